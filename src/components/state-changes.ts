/**
 * State Changes: a component decides a command at a revision, and the result is committed unless a read has changed.
 *
 * ```
 *                    ┌────────── its turn (conflict-lanes.ts) ◀── what it read has changed ◀─┐
 *                    ▼                                                                      │
 * command ──▶ newest revision ──▶ decide ──▶ events, guards ──▶ commit ──▶ recorded ──▶ answer
 *    │                              │  ▲
 *    └─ recorded under its id ─▶    ▼  │ views, events, the database, all at that revision
 *       the recorded answer      state reader
 * ```
 * Decisions change nothing, so they can be repeated after the loss of an executor or a node. All attempts of a command
 * have one transaction id, so it is committed at most once.
 *
 *   F22 A command is committed at most once under its transaction id, and a repeat is answered with what was
 *       recorded.
 */
import { assert, type ConstraintViolation } from '#base';
import type { TransactOutcome } from '#database';
import type { Command, Constraint, TransactPayload } from '#model';
import { inSpan } from '#observability';
import { transactionAt, transactionById } from '#query';
import type { Executors, Fault, FaultCode, JobOutcome, Value } from '#wasm';
import type { GuestBounds } from './batch-fold.ts';
import { ConflictLanes, type LaneTurn, laneOf } from './conflict-lanes.ts';
import {
  type Decided,
  type Decision,
  type DecisionAsk,
  type DecisionFailure,
  type Execution,
  type ReadableView,
} from './decision.ts';
import { DecisionReads, type ReadLimits } from './decision-reads.ts';
import { emittedFrom } from './emitted-events.ts';
import { failedBy } from './guest-failures.ts';
import { unchanged } from './read-record.ts';
import { decideValues, sdkDecision } from './sdk-decision.ts';
import { SdkReader, sdkDatabase } from './sdk-reader.ts';
import { StateReader } from './state-reader.ts';
import type { StateViews } from './state-views.ts';

export interface StateChangeSettings {
  /** Limits of one call of `decide`, including all waits. */
  readonly guest: GuestBounds;
  readonly reads: ReadLimits;
  /** Maximum number of attempts before the command ends in a conflict. */
  readonly attemptsMax: number;
}

const MIB = 2 ** 20;

export const DEFAULT_STATE_CHANGES: StateChangeSettings = {
  guest: {
    limits: { fuel: 50_000_000_000, outputBytesMax: 4 * MIB, hostCallsMax: 100 },
    time: { wallMs: 10_000, cpuMs: 5_000 },
  },
  reads: { eventsMax: 10_000, bytesMax: 16 * MIB },
  attemptsMax: 10,
};

/** The log of the database on this node. */
export interface DecisionLog {
  /** The latest local revision, without asking the leader. */
  applied(): number;
  /** The latest revision, applied here: `atLeast` or later. Rejects when that takes too long. */
  newest(atLeast: number): Promise<number>;
  /** Resolves when the transaction is applied here. A rejection leaves open whether it was committed. */
  commit(transaction: TransactPayload): Promise<TransactOutcome>;
}

/** The revision of a decision. */
export type DecisionBasis =
  /** This revision first, and a newer one at each retry. */
  | { readonly kind: 'latest'; readonly revision: number }
  /** Exactly this revision. */
  | { readonly kind: 'revision'; readonly revision: number }
  /** Exactly this revision, and only if nothing was committed after it. */
  | { readonly kind: 'last-seen'; readonly revision: number };

export interface ExecutionAsk extends DecisionAsk {
  readonly basis: DecisionBasis;
  readonly log: DecisionLog;
  /** 16 bytes: the batch id of the command, or a new one. */
  readonly transactionId: Uint8Array;
  readonly origin: TransactPayload['origin'];
  /** `lastReadRevision` is replaced by the revision of the decision. */
  readonly options: TransactPayload['options'];
}

/** Executors of State Changes. State Views must have others, because a decision waits for them. */
export type DecisionExecutors = Pick<Executors, 'call'>;

/** Faults that may not occur with a new instance or another executor. */
const CALLED_AGAIN: ReadonlySet<FaultCode> = new Set([
  'Trap',
  'StackOverflow',
  'FuelExhausted',
  'MemoryLimit',
  'ExecutorLost',
]);
const CALLS_MAX = 2;
const NANOS_PER_MS = 1_000_000n;

export class StateChanges {
  readonly #executors: DecisionExecutors;
  readonly #views: Pick<StateViews, 'render'>;
  readonly #settings: StateChangeSettings;
  readonly #lanes: ConflictLanes = new ConflictLanes();

  constructor(
    executors: DecisionExecutors,
    views: Pick<StateViews, 'render'>,
    settings: StateChangeSettings = DEFAULT_STATE_CHANGES,
  ) {
    this.#executors = executors;
    this.#views = views;
    this.#settings = settings;
  }

  /** Decides at an applied revision, and commits nothing. */
  decide(ask: DecisionAsk, at: number): Promise<Decision> {
    return this.#decide(ask, at, pinned(ask));
  }

  /** Decides and commits. */
  async execute(ask: ExecutionAsk): Promise<Execution> {
    const { basis, log } = ask;
    const newest = basis.kind === 'latest' ? newestOf(log, basis.revision) : await log.newest(basis.revision);
    const recorded = await recordedBy(ask, newest);
    if (recorded !== undefined) return recorded;
    if (basis.kind === 'last-seen' && newest > basis.revision) return changedSince(basis.revision, newest);
    const known = basis.kind === 'last-seen' ? { ...ask, lastSeen: basis.revision } : ask;
    return this.#attempt({ ...known, findView: pinned(ask) }, basis.kind === 'latest' ? newest : basis.revision);
  }

  /** Decides and commits, and retries while reads have changed. */
  async #attempt(ask: ExecutionAsk, first: number): Promise<Execution> {
    const { basis, log, database } = ask;
    const mayWait = basis.kind === 'latest';
    let at = first;
    let attempts = 1;
    let turn: LaneTurn | undefined;
    try {
      for (;;) {
        const decision = await this.#decide(ask, at, ask.findView);
        if (decision.kind !== 'decided') return decision;
        if (decision.events.length === 0) return { kind: 'nothing', at, attempts };
        const busy = mayWait && turn === undefined ? this.#lanes.busy(database.databaseId, decision.guards) : undefined;
        if (busy === undefined) {
          const { outcome, guards } = await commit(ask, decision);
          if (outcome.kind === 'committed' || outcome.kind === 'replayed') {
            const transaction = await transactionAt(database.source, outcome.revision);
            return { kind: 'committed', transaction, isReplayed: outcome.kind === 'replayed', attempts };
          }
          if (!mayWait || attempts >= this.#settings.attemptsMax) return conflictOf(outcome, { at, attempts });
          attempts++;
          turn ??= await this.#lanes.turn(laneOf(database.databaseId, violated(outcome, guards)), ask.signal);
          at = newestOf(log, outcome.revision);
        } else {
          turn = await this.#lanes.turn(busy, ask.signal);
          at = newestOf(log, at);
        }
        // A repeat of the command may have been committed first; it must not conflict with its own result.
        const recorded = await recordedBy(ask, at);
        if (recorded !== undefined) return recorded;
      }
    } finally {
      turn?.[Symbol.dispose]();
    }
  }

  #decide(ask: DecisionAsk, at: number, findView: DecisionAsk['findView']): Promise<Decision> {
    return inSpan(ask.span, 'cairn.decide', async (span) => {
      const decision = await this.#decideAt(ask, at, findView);
      span?.set({ 'cairn.component': ask.change, 'cairn.at': at, 'cairn.result': decision.kind });
      return decision;
    });
  }

  async #decideAt(ask: DecisionAsk, at: number, findView: DecisionAsk['findView']): Promise<Decision> {
    for (let calls = 1; ; calls++) {
      const reads = new DecisionReads({ ask, at, findView, views: this.#views, limits: this.#settings.reads });
      const outcome = await this.#call(ask, reads);
      reads.close();
      if (calls < CALLS_MAX && outcome.kind === 'fault' && CALLED_AGAIN.has(outcome.fault.code)) continue;
      return decisionOf(outcome, { ask, at, reads });
    }
  }

  async #call(ask: DecisionAsk, reads: DecisionReads): Promise<JobOutcome> {
    const { artifact, command, receivedAtMs, seed, signal } = ask;
    const isSdk = isOfSdk(ask);
    const reader = isSdk ? new SdkReader(reads) : new StateReader(reads);
    return this.#executors.call({
      ...(signal === undefined ? {} : { signal }),
      artifact,
      ...this.#settings.guest,
      wasi: { timeNs: BigInt(receivedAtMs) * NANOS_PER_MS, seed },
      bound: 'main',
      values: isSdk ? await decideValues(ask, sdkDatabase()) : [commandValue(command)],
      host: (call) => reads.answering(() => reader.answer(call)),
    });
  }
}

/** Resolves each view name once per command, whatever is published meanwhile. */
function pinned({ findView }: DecisionAsk): DecisionAsk['findView'] {
  const found = new Map<string, Promise<ReadableView | undefined>>();
  return (name, version) => {
    const key = `${version ?? ''} ${name}`;
    const known = found.get(key) ?? findView(name, version);
    found.set(key, known);
    return known;
  };
}

function isOfSdk({ artifact }: DecisionAsk): boolean {
  return artifact.binding.shape === 'sdk';
}

/** The record `command` of cairn.wit. */
function commandValue({ method, path, queryParameters, headers, body }: Command): Value {
  return { method, path, 'query-params': queryParameters, headers, body };
}

interface Called {
  readonly ask: DecisionAsk;
  readonly at: number;
  readonly reads: DecisionReads;
}

async function decisionOf(outcome: JobOutcome, { ask, at, reads }: Called): Promise<Decision> {
  if (outcome.kind === 'fault') return failureOf(outcome.fault, reads);
  if (isOfSdk(ask)) return sdkDecision(outcome.value, { ask, at, record: reads.record });
  const emitted = emittedFrom(outcome.value, ask.mintId);
  if (emitted.kind === 'failed') return emitted;
  if (emitted.kind === 'refused') return { ...emitted, at };
  return { kind: 'decided', at, events: emitted.events, guards: reads.record.guards(at) };
}

function failureOf(fault: Fault, reads: DecisionReads): DecisionFailure {
  return (fault.code === 'HostCallFailed' ? reads.failure : undefined) ?? failedBy(fault);
}

interface Committing {
  readonly outcome: TransactOutcome;
  /** The guards of the commit. */
  readonly guards: readonly Constraint[];
}

async function commit(ask: ExecutionAsk, { at, events, guards }: Decided): Promise<Committing> {
  const { log, basis, transactionId, origin } = ask;
  const options = { ...ask.options, lastReadRevision: at };
  const under = async (constraints: readonly Constraint[]): Promise<Committing> => {
    const outcome = await log.commit({ transactionId, origin, options, constraints, events });
    return { outcome, guards: constraints };
  };
  const committing = await under(basis.kind === 'last-seen' ? [unchanged(at)] : guards);
  // When the limits do not allow the guards to be evaluated, a guard on the whole database can be.
  return committing.outcome.kind === 'too-broad' ? under([unchanged(at)]) : committing;
}

/** The result recorded under the id of the command up to this revision. */
async function recordedBy({ database, transactionId }: ExecutionAsk, at: number): Promise<Execution | undefined> {
  const transaction = await transactionById(database.source, at, transactionId);
  return transaction && { kind: 'committed', transaction, isReplayed: true, attempts: 0 };
}

/** The later of the known revision and the local one. */
function newestOf(log: DecisionLog, known: number): number {
  return Math.max(known, log.applied());
}

type NotCommitted = Exclude<TransactOutcome, { readonly kind: 'committed' | 'replayed' }>;

/** The violated guard, or the first of them. */
function violated(outcome: NotCommitted, guards: readonly Constraint[]): Constraint {
  const [violation] = violationsOf(outcome);
  const guard = violation === undefined ? undefined : guards[violation.index];
  assert(guard !== undefined, 'What is violated is one of the guards', outcome);
  return guard;
}

function violationsOf(outcome: NotCommitted): readonly ConstraintViolation[] {
  assert(outcome.kind === 'violated', 'A constraint without a selector is not too broad', outcome);
  return outcome.violations;
}

function conflictOf(
  outcome: NotCommitted,
  { at, attempts }: { readonly at: number; readonly attempts: number },
): Execution {
  const { revision } = outcome;
  const violations = violationsOf(outcome);
  const message = `What the command was decided by at revision ${at} has changed; the database is at ${revision}`;
  return { kind: 'conflict', message, revision, violations, attempts };
}

function changedSince(lastSeen: number, revision: number): Execution {
  const message = `The database has changed since revision ${lastSeen}; it is at ${revision}`;
  return { kind: 'conflict', message, revision, violations: [], attempts: 0 };
}

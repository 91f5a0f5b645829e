/**
 * State Changes: a command is decided by a component, at a revision, and what it decides is committed unless what it
 * read has changed.
 *
 * ```
 *                    ┌──────────────────────── what it read has changed ◀──────────────────┐
 *                    ▼                                                                      │
 * command ──▶ newest revision ──▶ decide ──▶ events, guards ──▶ commit ──▶ recorded ──▶ answer
 *    │                              │  ▲
 *    └─ recorded under its id ─▶    ▼  │ views, events, the database, all at that revision
 *       the recorded answer      state reader
 * ```
 * Decisions change nothing: whatever ends an executor, or a node, in the middle of one, it may be taken again. All
 * attempts of a command have one transaction id, so it is committed once, however often its commit is tried.
 *
 *   F22 A command is committed at most once under its transaction id, and whoever repeats it is answered what was
 *       recorded.
 */
import { assert } from '#base';
import type { TransactOutcome } from '#database';
import type { Command, Constraint, TransactPayload } from '#model';
import { transactionAt, transactionById } from '#query';
import type { Executors, FaultCode, JobOutcome, Value } from '#wasm';
import type { GuestBounds } from './batch-fold.ts';
import {
  type Decided,
  type Decision,
  type DecisionAsk,
  type DecisionFailure,
  decisionFailure,
  type Execution,
  type ReadableView,
} from './decision.ts';
import { emittedFrom } from './emitted-events.ts';
import { unchanged } from './read-record.ts';
import { type ReadLimits, StateReader } from './state-reader.ts';
import type { StateViews } from './state-views.ts';

export interface StateChangeSettings {
  /** Of one call of `decide`, with all that it waits for. */
  readonly guest: GuestBounds;
  readonly reads: ReadLimits;
  /** How often a command is decided before it ends in a conflict. */
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

/** The log of the database, as this node has it. */
export interface DecisionLog {
  /** A revision that is applied here: `atLeast` or a later one. It rejects where there is none in time. */
  revision(atLeast: number): Promise<number>;
  /** Resolves when the transaction is applied here. A rejection says nothing of whether it was committed. */
  commit(transaction: TransactPayload): Promise<TransactOutcome>;
}

/** At which revision a command is decided. */
export type DecisionBasis =
  /** The newest, and a newer one while what was read has changed. */
  | { readonly kind: 'latest' }
  /** This one, and no other. */
  | { readonly kind: 'revision'; readonly revision: number }
  /** This one, and only as long as nothing at all was committed behind it. */
  | { readonly kind: 'last-seen'; readonly revision: number };

export interface ExecutionAsk extends DecisionAsk {
  readonly basis: DecisionBasis;
  readonly log: DecisionLog;
  /** 16 bytes: the batch id that came with the command, or one of its own. */
  readonly transactionId: Uint8Array;
  readonly origin: TransactPayload['origin'];
  /** `lastReadRevision` is set to the revision that was decided at. */
  readonly options: TransactPayload['options'];
}

/** What a State Change needs of the executors. Those of State Views must be others: a decision waits for them. */
export type DecisionExecutors = Pick<Executors, 'call'>;

/** Faults that a new instance, or another executor, may not have. */
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

  constructor(
    executors: DecisionExecutors,
    views: Pick<StateViews, 'render'>,
    settings: StateChangeSettings = DEFAULT_STATE_CHANGES,
  ) {
    this.#executors = executors;
    this.#views = views;
    this.#settings = settings;
  }

  /** Decides at a revision, which is applied, and commits nothing. */
  decide(ask: DecisionAsk, at: number): Promise<Decision> {
    return this.#decide(ask, at, pinned(ask));
  }

  /** Decides, and commits what was decided. */
  async execute(ask: ExecutionAsk): Promise<Execution> {
    const { basis, log, database } = ask;
    const newest = await log.revision(basis.kind === 'latest' ? 0 : basis.revision);
    const recorded = transactionById(database.source, newest, ask.transactionId);
    if (recorded !== undefined) return { kind: 'committed', transaction: recorded, isReplayed: true, attempts: 0 };
    if (basis.kind === 'last-seen' && newest > basis.revision) return changedSince(basis.revision, newest);
    const findView = pinned(ask);
    let at = basis.kind === 'latest' ? newest : basis.revision;
    for (let attempts = 1; ; attempts++) {
      const decision = await this.#decide(ask, at, findView);
      if (decision.kind !== 'decided') return decision;
      if (decision.events.length === 0) return { kind: 'nothing', at, attempts };
      const outcome = await commit(ask, decision);
      if (outcome.kind === 'committed' || outcome.kind === 'replayed') {
        const transaction = transactionAt(database.source, outcome.revision);
        return { kind: 'committed', transaction, isReplayed: outcome.kind === 'replayed', attempts };
      }
      if (basis.kind !== 'latest' || attempts >= this.#settings.attemptsMax) {
        return conflictOf(outcome, { at, attempts });
      }
      at = await log.revision(outcome.revision);
    }
  }

  async #decide(ask: DecisionAsk, at: number, findView: DecisionAsk['findView']): Promise<Decision> {
    if (ask.artifact.binding.shape !== 'own') {
      return decisionFailure('WasmExecutionError', 'A State Change of the shape of the SDK is not run by this release');
    }
    for (let calls = 1; ; calls++) {
      const options = { ask, at, findView, views: this.#views, limits: this.#settings.reads };
      const reader = new StateReader(options);
      const outcome = await this.#call(ask, reader);
      reader.close();
      if (calls < CALLS_MAX && outcome.kind === 'fault' && CALLED_AGAIN.has(outcome.fault.code)) continue;
      return decisionOf(outcome, { ask, at, reader });
    }
  }

  #call({ artifact, command, receivedAtMs, seed, signal }: DecisionAsk, reader: StateReader): Promise<JobOutcome> {
    return this.#executors.call({
      ...(signal === undefined ? {} : { signal }),
      artifact,
      ...this.#settings.guest,
      wasi: { timeNs: BigInt(receivedAtMs) * NANOS_PER_MS, seed },
      bound: 'main',
      values: [commandValue(command)],
      host: (call) => reader.answer(call),
    });
  }
}

/** A name stands for one version of a State View as long as the command is decided, whatever is published meanwhile. */
function pinned({ findView }: DecisionAsk): DecisionAsk['findView'] {
  const found = new Map<string, Promise<ReadableView | undefined>>();
  return (name) => {
    const known = found.get(name) ?? findView(name);
    found.set(name, known);
    return known;
  };
}

/** The record `command` of cairn.wit. */
function commandValue({ method, path, queryParameters, headers, body }: Command): Value {
  return { method, path, 'query-params': queryParameters, headers, body };
}

interface Called {
  readonly ask: DecisionAsk;
  readonly at: number;
  readonly reader: StateReader;
}

function decisionOf(outcome: JobOutcome, { ask, at, reader }: Called): Decision {
  if (outcome.kind === 'fault') return failureOf(outcome.fault, reader);
  const emitted = emittedFrom(outcome.value, ask.mintId);
  if (emitted.kind === 'failed') return emitted;
  if (emitted.kind === 'refused') return { ...emitted, at };
  return { kind: 'decided', at, events: emitted.events, guards: reader.record.guards(at) };
}

function failureOf(
  { code, message }: { readonly code: FaultCode; readonly message: string },
  reader: StateReader,
): DecisionFailure {
  const byReader = code === 'HostCallFailed' ? reader.failure : undefined;
  if (byReader !== undefined) return byReader;
  return code === 'Busy'
    ? decisionFailure('Busy', message)
    : decisionFailure('WasmExecutionError', `${code}: ${message}`);
}

async function commit(ask: ExecutionAsk, { at, events, guards }: Decided): Promise<TransactOutcome> {
  const { log, basis, transactionId, origin } = ask;
  const options = { ...ask.options, lastReadRevision: at };
  const under = (constraints: readonly Constraint[]): Promise<TransactOutcome> =>
    log.commit({ transactionId, origin, options, constraints, events });
  const outcome = await under(basis.kind === 'last-seen' ? [unchanged(at)] : guards);
  // Whether what was read has changed cannot be found within the limits; whether anything has, can.
  return outcome.kind === 'too-broad' ? under([unchanged(at)]) : outcome;
}

type NotCommitted = Exclude<TransactOutcome, { readonly kind: 'committed' | 'replayed' }>;

function conflictOf(
  outcome: NotCommitted,
  { at, attempts }: { readonly at: number; readonly attempts: number },
): Execution {
  assert(outcome.kind === 'violated', 'A constraint without a selector is not too broad', outcome);
  const { revision, violations } = outcome;
  const message = `What the command was decided by at revision ${at} has changed; the database is at ${revision}`;
  return { kind: 'conflict', message, revision, violations, attempts };
}

function changedSince(lastSeen: number, revision: number): Execution {
  const message = `The database has changed since revision ${lastSeen}; it is at ${revision}`;
  return { kind: 'conflict', message, revision, violations: [], attempts: 0 };
}

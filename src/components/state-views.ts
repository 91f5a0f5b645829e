/**
 * State Views: the selected events of a database folded by a component, up to a revision and a cut, and rendered.
 *
 * ```
 * read ──▶ snapshot that holds here, or none ──▶ batches of events ──▶ executor ──▶ state ──▶ query ──▶ bytes
 *                       ▲                            (the next is read while one is folded)  │
 *                       └──────────── kept as the fold goes on, and at its end ◀─────────────┘
 * ```
 * A fold waits for executors and the disk, and never holds the loop: events come in slices and are folded elsewhere.
 *
 *   F6  A rendered answer is a function of the component, its parameters, the events up to the revision, and the cut.
 *   F7  Whatever happens to snapshots, artifacts and executors changes how long an answer takes, and not its bytes.
 */
import { assert, compareInstants, INSTANT_SECONDS_MIN, type Instant, toHex } from '#base';
import { DatabaseReader } from '#database';
import type { EventQuery } from '#model';
import { queryEvents, transactionAt } from '#query';
import { type Executors, isRecord, type JobOutcome } from '#wasm';
import { FOLD_WASI, foldBatch, type GuestBounds } from './batch-fold.ts';
import { type BatchBounds, type EventBatch, eventBatches, type LastEvent } from './event-batches.ts';
import type { FoldSnapshots, NamedPlace } from './fold-snapshots.ts';
import {
  encodeParameters,
  foldKey,
  type ViewAnswer,
  type ViewFailure,
  type ViewRead,
  viewFailure,
} from './view-read.ts';

export interface StateViewSettings {
  readonly batch: BatchBounds;
  /** Of `evolve`, and of `query`. */
  readonly guest: GuestBounds;
  /** A fold keeps a snapshot after so many events. */
  readonly snapshotEvents: number;
  /** At its end it keeps one if it has folded so many since. */
  readonly snapshotEventsMin: number;
  /** Folds at a time. */
  readonly foldsMax: number;
}

const MIB = 2 ** 20;

export const DEFAULT_STATE_VIEWS: StateViewSettings = {
  batch: { eventsMax: 1000, bytesMax: MIB / 4 },
  guest: {
    limits: { fuel: 50_000_000_000, outputBytesMax: 8 * MIB, hostCallsMax: 0 },
    time: { wallMs: 10_000, cpuMs: 5_000 },
  },
  snapshotEvents: 100_000,
  snapshotEventsMin: 100,
  foldsMax: 256,
};

/** How far a fold has come. */
interface Progress {
  readonly state: Uint8Array;
  readonly last: LastEvent | undefined;
  readonly foldedCount: number;
  readonly isFromFirst: boolean;
}

type FoldResult = ({ readonly kind: 'state' } & Progress) | ViewFailure;

const NOTHING: Progress = { state: new Uint8Array(0), last: undefined, foldedCount: 0, isFromFirst: true };

/** What a view needs of the executors. */
export type FoldExecutors = Pick<Executors, 'fold' | 'call'>;

export class StateViews {
  readonly #executors: FoldExecutors;
  readonly #snapshots: FoldSnapshots;
  readonly #settings: StateViewSettings;
  /** Whoever reads what is being folded waits for it. */
  readonly #folding: Map<string, Promise<FoldResult>> = new Map();

  constructor(executors: FoldExecutors, snapshots: FoldSnapshots, settings: StateViewSettings = DEFAULT_STATE_VIEWS) {
    this.#executors = executors;
    this.#snapshots = snapshots;
    this.#settings = settings;
  }

  async render(read: ViewRead): Promise<ViewAnswer> {
    if (read.order === 'effective-time' && read.cut === undefined) {
      return viewFailure('InvalidParameters', `${read.view} is in the order of effective time; say up to which time`);
    }
    if (read.artifact.binding.shape !== 'own') {
      return viewFailure('WasmExecutionError', 'A State View of the shape of the SDK is not folded by this release');
    }
    const folded = await this.#shared(read);
    if (folded.kind === 'failed') return folded;
    const { state, last, foldedCount, isFromFirst } = folded;
    const rendered = await this.#query(read, state);
    if (!(rendered instanceof Uint8Array)) return rendered;
    return { kind: 'rendered', bytes: rendered, hasState: last !== undefined, foldedCount, isFromFirst };
  }

  async #shared(read: ViewRead): Promise<FoldResult> {
    const fold = foldKey(read);
    const { at, cut, order, refolds = false } = read;
    const until = order === 'revision' || cut === undefined ? '' : `${cut.seconds}.${cut.nanos}`;
    const name = `${fold} ${at} ${until} ${refolds}`;
    const running = this.#folding.get(name);
    if (running !== undefined) return running;
    if (this.#folding.size >= this.#settings.foldsMax) {
      return viewFailure('Busy', `${this.#folding.size} folds run, which is the most; try again`);
    }
    const folding = this.#fold(read, fold);
    this.#folding.set(name, folding);
    try {
      return await folding;
    } finally {
      this.#folding.delete(name);
    }
  }

  async #fold(read: ViewRead, fold: string): Promise<FoldResult> {
    if (read.refolds === true) await this.#snapshots.dropAll(fold);
    const begin = read.refolds === true ? NOTHING : await this.#beginning(read, fold);
    const batches = eventBatches(read.source, {
      at: read.at,
      query: queryFrom(read, begin.last),
      bounds: this.#settings.batch,
    });
    try {
      return await this.#foldAll(read, { fold, begin, batches });
    } finally {
      await batches.return(undefined);
    }
  }

  /** The furthest snapshot that holds for this read. */
  async #beginning(read: ViewRead, fold: string): Promise<Progress> {
    for (const place of this.#snapshots.places(fold, read.order)) {
      if (!(await holds(read, place))) continue;
      const state = await this.#snapshots.state(place);
      if (state !== undefined) return { state, last: place.last, foldedCount: 0, isFromFirst: false };
    }
    return NOTHING;
  }

  async #foldAll(
    read: ViewRead,
    { fold, begin, batches }: { fold: string; begin: Progress; batches: AsyncGenerator<EventBatch, undefined> },
  ): Promise<FoldResult> {
    const call = { executors: this.#executors, artifact: read.artifact, lane: fold, bounds: this.#settings.guest };
    let progress = begin;
    let unkept = 0;
    let batch = await batches.next();
    while (batch.done !== true) {
      const { events, count, last } = batch.value;
      const [folded, next] = await bothOf(foldBatch(call, { state: progress.state, events, count }), batches.next());
      if (folded.kind === 'failed') return folded;
      progress = { ...progress, state: folded.state, last, foldedCount: progress.foldedCount + count };
      unkept += count;
      batch = next;
      if (batch.done !== true && unkept >= this.#settings.snapshotEvents) {
        await this.#keep(read, fold, { progress, isWhole: false });
        unkept = 0;
      }
    }
    if (unkept >= this.#settings.snapshotEventsMin) await this.#keep(read, fold, { progress, isWhole: true });
    return { kind: 'state', ...progress };
  }

  async #keep(
    read: ViewRead,
    fold: string,
    { progress, isWhole }: { progress: Progress; isWhole: boolean },
  ): Promise<void> {
    const { state, last } = progress;
    assert(last !== undefined, 'What was folded has a last event');
    // In the order of revisions, a fold that is on its way has seen all of those before its last event.
    const readAt = isWhole || read.order === 'effective-time' ? read.at : last.position.revision - 1;
    const chain = chainAt(read, Math.max(readAt, last.position.revision));
    await this.#snapshots.keep(fold, { readAt, last, chain, state });
  }

  async #query(read: ViewRead, state: Uint8Array): Promise<Uint8Array | ViewFailure> {
    const { artifact, parameters } = read;
    if (artifact.binding.query === undefined) return state;
    const call = {
      artifact,
      lane: foldKey(read),
      ...this.#settings.guest,
      wasi: FOLD_WASI,
      bound: 'query',
      values: [state, encodeParameters(parameters)],
    } as const;
    // An instance that was called before may have less left than one that was not, and a process may be lost.
    let outcome = await this.#executors.call(call);
    for (let turn = 1; turn < QUERIES_MAX && isTriedAgain(outcome); turn++) outcome = await this.#executors.call(call);
    return renderedFrom(outcome);
  }
}

const QUERIES_MAX = 3;

function isTriedAgain(outcome: JobOutcome): boolean {
  return outcome.kind === 'fault' && outcome.fault.code !== 'Busy' && outcome.fault.code !== 'Quarantined';
}

function renderedFrom(outcome: JobOutcome): Uint8Array | ViewFailure {
  if (outcome.kind === 'fault') {
    const { code, message } = outcome.fault;
    return code === 'Busy' ? viewFailure('Busy', message) : viewFailure('WasmExecutionError', `${code}: ${message}`);
  }
  const { tag, val } = isRecord(outcome.value) ? outcome.value : { tag: undefined, val: undefined };
  if (tag === 'ok' && val instanceof Uint8Array) return val;
  return viewFailure(
    'WasmExecutionError',
    `The component refuses: ${typeof val === 'string' ? val : 'no reason given'}`,
  );
}

/** Everything selected behind the event that a fold has come to. */
function queryFrom({ selector, order, at, cut }: ViewRead, last: LastEvent | undefined): EventQuery {
  const after = last?.position;
  if (order === 'revision')
    return { selector, revisions: { start: after?.revision, end: at }, direction: 'forward', after };
  const effectiveTime = { start: last?.effective, end: cut };
  return { selector, revisions: { end: at }, effectiveTime, direction: 'forward', after };
}

/** Whether a snapshot is on the way to what is read. */
async function holds(read: ViewRead, { readAt, last, chain }: NamedPlace): Promise<boolean> {
  const { source, order, at, cut } = read;
  const known = Math.max(readAt, last.position.revision);
  const applied = new DatabaseReader(source).applied();
  if (applied === undefined || known > applied.revision || chainAt(read, known) !== chain) return false;
  if (order === 'revision') return last.position.revision <= at;
  if (readAt > at || cut === undefined || compareInstants(last.effective, cut) > 0) return false;
  return readAt === at || !(await hasEarlier(read, { readAt, before: last.effective }));
}

/** Whether an event came later than a snapshot, and belongs before its end. */
async function hasEarlier(
  { source, selector, at }: ViewRead,
  { readAt, before }: { readonly readAt: number; readonly before: Instant },
): Promise<boolean> {
  const end = justBefore(before);
  if (end === undefined) return false;
  const query: EventQuery = {
    selector,
    revisions: { start: readAt + 1, end: at },
    effectiveTime: { end },
    direction: 'forward',
    limit: 1,
  };
  for await (const slice of queryEvents(source, { at, query })) if (slice.length > 0) return true;
  return false;
}

const NANOS_MAX = 999_999_999;

function justBefore({ seconds, nanos }: Instant): Instant | undefined {
  if (nanos > 0) return { seconds, nanos: nanos - 1 };
  return seconds > INSTANT_SECONDS_MIN ? { seconds: seconds - 1, nanos: NANOS_MAX } : undefined;
}

const CHAIN_DIGITS = 32;

function chainAt({ source }: ViewRead, revision: number): string {
  return toHex(transactionAt(source, revision).chainHash).slice(0, CHAIN_DIGITS);
}

/** Both, or the error of one when the other is over, too: nothing goes on behind whoever is told of it. */
async function bothOf<One, Other>(one: Promise<One>, other: Promise<Other>): Promise<readonly [One, Other]> {
  await Promise.allSettled([one, other]);
  return [await one, await other];
}

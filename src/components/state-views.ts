/**
 * State Views: folds the selected events of a database with a component, up to a revision and a cut, and renders the
 * state.
 *
 * ```
 * read ──▶ snapshot that holds here, or none ──▶ batches of events ──▶ executor ──▶ state ──▶ query ──▶ bytes
 *                       ▲                            (the next is read while one is folded)  │
 *                       └──────────── stored during the fold and at its end ◀─────────────┘
 * ```
 * fold-snapshots.ts chooses the snapshot. A fold waits for executors and the disk and never blocks the event loop. A
 * view can also be advanced in the background (`advance`), in steps that give readers priority.
 *
 *   F6  A rendered answer is a function of the component, its parameters, the events up to the revision, and the cut.
 *   F7  Loss of snapshots, artifacts and executors changes how long an answer takes, but not its bytes.
 */
import { assert } from '#base';
import type { EventQuery } from '#model';
import { type Executors, type FaultCode, isRecord, type JobOutcome } from '#wasm';
import { FOLD_WASI, foldBatch, type GuestBounds } from './batch-fold.ts';
import { BatchMemory } from './batch-memory.ts';
import { type BatchReader, READ_HERE } from './batch-thread.ts';
import type { BatchBounds, EventBatch, LastEvent } from './event-batches.ts';
import type { FoldSnapshots, KeptState } from './fold-snapshots.ts';
import { failed, failedBy } from './guest-failures.ts';
import { viewValue } from './sdk-values.ts';
import { encodeParameters, foldKey, type ViewAnswer, type ViewFailure, type ViewRead } from './view-read.ts';
import { WantedFold } from './wanted-fold.ts';

export interface StateViewSettings {
  readonly batch: BatchBounds;
  /** Limits of `evolve` and of `query`. */
  readonly guest: GuestBounds;
  /** Number of events between two snapshots of a fold. */
  readonly snapshotEvents: number;
  /** Minimum number of events since the last snapshot for a snapshot at the end. */
  readonly snapshotEventsMin: number;
  /** Maximum number of concurrent folds. */
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

/** State and position of a fold. */
interface Progress {
  readonly state: Uint8Array;
  readonly last: LastEvent | undefined;
  readonly foldedCount: number;
  readonly isFromFirst: boolean;
}

type FoldResult = ({ readonly kind: 'state' } & Progress) | ViewFailure;

/** Progress with the additional results of a step. */
type StepResult = ({ readonly kind: 'state' } & Progress & Pick<Advanced, 'isWhole' | 'place'>) | ViewFailure;

interface FoldParts {
  readonly begin: Progress;
  readonly batches: AsyncGenerator<EventBatch, undefined>;
  readonly way: FoldWay;
}

/** Differences between a fold for a reader and a background step. */
interface FoldWay {
  readonly fold: string;
  readonly batch: BatchBounds;
  /** Stops after the batch that reaches this number of events. */
  readonly eventsMax: number;
  /** Minimum number of events since the last snapshot for a snapshot at the end. */
  readonly keptMin: number;
  readonly givesWay: boolean;
  /** False for a forced refold, which neither reads nor stores snapshots. */
  readonly usesSnapshots: boolean;
  /** `stop` aborts further batches; `end` also aborts the call in progress. */
  readonly stop: AbortSignal;
  readonly end?: AbortSignal | undefined;
}

export interface AdvanceStep {
  readonly batch: BatchBounds;
  /** Stops after the batch that reaches this number of events. */
  readonly eventsMax: number;
  /** Aborts further batches; the events folded so far are kept. */
  readonly signal: AbortSignal;
}

export interface Advanced {
  readonly kind: 'advanced';
  readonly foldedCount: number;
  readonly isFromFirst: boolean;
  /** True when it has reached the revision of the read. */
  readonly isWhole: boolean;
  /** Name of the snapshot at its end; undefined when nothing was folded or the folder has refused it. */
  readonly place: string | undefined;
}

/** Events folded since the start, including those of failed folds. */
export interface FoldFigures {
  readonly readEvents: number;
  readonly advancedEvents: number;
}

const NOTHING: Progress = { state: new Uint8Array(0), last: undefined, foldedCount: 0, isFromFirst: true };

/** Executor operations that views need. */
export type FoldExecutors = Pick<Executors, 'fold' | 'call'>;

export class StateViews {
  readonly #executors: FoldExecutors;
  readonly #snapshots: FoldSnapshots;
  readonly #settings: StateViewSettings;
  readonly #reader: BatchReader;
  readonly #memory: BatchMemory = new BatchMemory();
  /** Folds in progress, shared by all readers of the same state. */
  readonly #folding: Map<string, WantedFold<FoldResult>> = new Map();
  #readEvents = 0;
  #advancedEvents = 0;

  constructor(
    executors: FoldExecutors,
    snapshots: FoldSnapshots,
    settings: StateViewSettings = DEFAULT_STATE_VIEWS,
    reader: BatchReader = READ_HERE,
  ) {
    this.#executors = executors;
    this.#snapshots = snapshots;
    this.#settings = settings;
    this.#reader = reader;
  }

  figures(): FoldFigures {
    return { readEvents: this.#readEvents, advancedEvents: this.#advancedEvents };
  }

  /** The signal aborts when the answer is no longer needed; the result is then meaningless. */
  async render(read: ViewRead, signal?: AbortSignal): Promise<ViewAnswer> {
    const refusal = refusalOf(read);
    if (refusal !== undefined) return refusal;
    const folded = await this.#shared(read, signal);
    if (folded.kind === 'failed') return folded;
    const { state, last, foldedCount, isFromFirst } = folded;
    const rendered = await this.#query(read, state, signal);
    if (!(rendered instanceof Uint8Array)) return rendered;
    const hasState = last !== undefined;
    return { kind: 'rendered', bytes: rendered, hasState, last: last?.position, foldedCount, isFromFirst };
  }

  /**
   * Folds one step towards the revision of the read, with lower priority than folds for readers. Not concurrently for
   * the same fold.
   */
  async advance(read: ViewRead, { batch, eventsMax, signal }: AdvanceStep): Promise<Advanced | ViewFailure> {
    const refusal = refusalOf(read);
    if (refusal !== undefined) return refusal;
    const fold = foldKey(read);
    const begin = progressFrom(await this.#snapshots.furthest(fold, read));
    const way = { fold, batch, eventsMax, keptMin: 1, givesWay: true, usesSnapshots: true, stop: signal };
    const folded = await this.#foldFrom(read, begin, way);
    if (folded.kind === 'failed') return folded;
    const { foldedCount, isFromFirst, isWhole, place } = folded;
    return { kind: 'advanced', foldedCount, isFromFirst, isWhole, place };
  }

  /** Drops a snapshot by the name that `advance` returned. */
  drop(place: string): Promise<void> {
    return this.#snapshots.drop(place);
  }

  async #shared(read: ViewRead, signal: AbortSignal | undefined): Promise<FoldResult> {
    const fold = foldKey(read);
    const { at, cut, order, refolds = false } = read;
    const until = order === 'revision' || cut === undefined ? '' : `${cut.seconds}.${cut.nanos}`;
    const name = `${fold} ${at} ${until} ${refolds}`;
    const running = this.#folding.get(name);
    if (running?.isAbandoned === false) return running.read(signal);
    if (this.#folding.size >= this.#settings.foldsMax) {
      return failed('Busy', `${this.#folding.size} folds run, the limit; try again`);
    }
    const folding = new WantedFold((stop, end) => this.#fold(read, { fold, stop, end }));
    this.#folding.set(name, folding);
    try {
      return await folding.read(signal);
    } finally {
      if (this.#folding.get(name) === folding) this.#folding.delete(name);
    }
  }

  async #fold(read: ViewRead, { fold, stop, end }: Pick<FoldWay, 'fold' | 'stop' | 'end'>): Promise<FoldResult> {
    const { batch, snapshotEventsMin: keptMin } = this.#settings;
    const usesSnapshots = read.refolds !== true;
    const begin = progressFrom(usesSnapshots ? await this.#snapshots.furthest(fold, read) : undefined);
    const eventsMax = Number.POSITIVE_INFINITY;
    return this.#foldFrom(read, begin, { fold, batch, eventsMax, keptMin, givesWay: false, usesSnapshots, stop, end });
  }

  async #foldFrom(read: ViewRead, begin: Progress, way: FoldWay): Promise<StepResult> {
    const { source, at, artifact } = read;
    const lease = this.#memory.lease();
    const query = queryFrom(read, begin.last);
    const asked = { at, query, bounds: way.batch, shape: artifact.binding.shape };
    const batches = this.#reader.batches(source, asked, lease);
    try {
      return await this.#foldAll(read, { begin, batches, way });
    } finally {
      await batches.return(undefined);
      lease.end();
    }
  }

  async #foldAll(read: ViewRead, { begin, batches, way }: FoldParts): Promise<StepResult> {
    const { fold: lane, givesWay, end: signal } = way;
    const { artifact, title } = read;
    const shown = artifact.binding.shape === 'sdk' ? viewValue(title) : undefined;
    const call = { executors: this.#executors, artifact, lane, bounds: this.#settings.guest, shown, givesWay, signal };
    let progress = begin;
    let unkept = 0;
    let place: string | undefined;
    let batch = await batches.next();
    while (batch.done !== true && progress.foldedCount < way.eventsMax) {
      // Folds that start meanwhile have priority by their calls; waiting for all readers would never end here.
      if (givesWay) await Promise.allSettled(Array.from(this.#folding.values(), ({ result }) => result));
      if (way.stop.aborted) break;
      const { events, count, last } = batch.value;
      const [folded, next] = await bothOf(foldBatch(call, { state: progress.state, events, count }), batches.next());
      this.#count(way, count);
      if (folded.kind === 'failed') return folded;
      progress = { ...progress, state: folded.state, last, foldedCount: progress.foldedCount + count };
      unkept += count;
      batch = next;
      if (way.usesSnapshots && batch.done !== true && unkept >= this.#settings.snapshotEvents) {
        place = await this.#keep(read, lane, { progress, isWhole: false });
        unkept = 0;
      }
    }
    const isWhole = batch.done === true;
    if (way.usesSnapshots && unkept >= way.keptMin) place = await this.#keep(read, lane, { progress, isWhole });
    return { kind: 'state', ...progress, isWhole, place };
  }

  #count({ givesWay }: FoldWay, events: number): void {
    if (givesWay) this.#advancedEvents += events;
    else this.#readEvents += events;
  }

  async #keep(
    read: ViewRead,
    fold: string,
    { progress, isWhole }: { progress: Progress; isWhole: boolean },
  ): Promise<string | undefined> {
    const { state, last } = progress;
    assert(last !== undefined, 'What was folded has a last event');
    // In the order of revisions, an unfinished fold has seen all events before its last one.
    const readAt = isWhole || read.order === 'effective-time' ? read.at : last.position.revision - 1;
    return this.#snapshots.keep(fold, read, { readAt, last, state });
  }

  async #query(read: ViewRead, state: Uint8Array, signal: AbortSignal | undefined): Promise<Uint8Array | ViewFailure> {
    const { artifact, parameters } = read;
    if (artifact.binding.query === undefined) return state;
    const call = {
      artifact,
      lane: foldKey(read),
      ...this.#settings.guest,
      wasi: FOLD_WASI,
      bound: 'query',
      values: [state, encodeParameters(parameters)],
      ...(signal !== undefined && { signal }),
    } as const;
    // A used instance may have less memory left than a new one, and a process may be lost.
    let outcome = await this.#executors.call(call);
    for (let turn = 1; turn < QUERIES_MAX && isTriedAgain(outcome); turn++) outcome = await this.#executors.call(call);
    return renderedFrom(outcome);
  }
}

const QUERIES_MAX = 3;

/** Continues from a snapshot; without one, from the first event. */
function progressFrom(snapshot: KeptState | undefined): Progress {
  return snapshot === undefined ? NOTHING : { ...snapshot, foldedCount: 0, isFromFirst: false };
}

function refusalOf({ order, cut, view }: ViewRead): ViewFailure | undefined {
  if (order !== 'effective-time' || cut !== undefined) return undefined;
  return failed('InvalidParameters', `${view} is in the order of effective time; say up to which time`);
}

/** Faults that a retry does not fix, or whose result is no longer needed. */
const FINAL: ReadonlySet<FaultCode> = new Set(['Busy', 'Quarantined', 'Cancelled']);

function isTriedAgain(outcome: JobOutcome): boolean {
  return outcome.kind === 'fault' && !FINAL.has(outcome.fault.code);
}

function renderedFrom(outcome: JobOutcome): Uint8Array | ViewFailure {
  if (outcome.kind === 'fault') return failedBy(outcome.fault);
  const { tag, val } = isRecord(outcome.value) ? outcome.value : { tag: undefined, val: undefined };
  if (tag === 'ok' && val instanceof Uint8Array) return val;
  return failed('WasmExecutionError', `The component refuses: ${typeof val === 'string' ? val : 'no reason given'}`);
}

/** The query for all selected events after the last folded one. */
function queryFrom({ selector, order, at, cut }: ViewRead, last: LastEvent | undefined): EventQuery {
  const after = last?.position;
  if (order === 'revision')
    return { selector, revisions: { start: after?.revision, end: at }, direction: 'forward', after };
  const effectiveTime = { start: last?.effective, end: cut };
  return { selector, revisions: { end: at }, effectiveTime, direction: 'forward', after };
}

/** Returns both results, or the first error after both have ended, so that nothing runs on in the background. */
async function bothOf<One, Other>(one: Promise<One>, other: Promise<Other>): Promise<readonly [One, Other]> {
  await Promise.allSettled([one, other]);
  return [await one, await other];
}

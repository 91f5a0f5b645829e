/**
 * Presenters: a rendered state becomes a body, as fast as it is read.
 *
 * ```
 *                 ┌──────── no executor is free ────────┐
 *   open ──▶ waiting ──▶ running ◀──▶ standing ──▶ put away ──▶ waiting, when most of what is ahead was taken
 *                           │     what is ahead      others wait for an executor,
 *                           ▼     is full            or it has stood for long
 *                          over: the end, a failure, cancelled, out of time
 * ```
 * A guest that writes waits in its call, in its executor, until there is room ahead of the reader. One that stands so
 * costs the executor; so it is ended when others wait, and made again from its beginning when the reader has come
 * further (presented-body.ts). Each time there may be twice as much ahead, so that a slow reader of a long body costs
 * few turns.
 *
 *   F32 What presentations hold in the node, states and what is ahead of readers, is counted before they hold it.
 *   F33 A presentation is over at the end of its time, or soon after its reader has gone, whatever its guest does.
 */
import { DatabaseError } from '#base';
import { DEFAULT_EXECUTORS, type ExecutorSettings, type Executors } from '#wasm';
import type { GuestBounds } from './batch-fold.ts';
import { Presentation } from './presentation.ts';
import type { PresentedPart } from './presented-body.ts';
import type { PresentationAsked } from './presenter-call.ts';
import { PresenterTurns, type TurnSettings } from './presenter-turns.ts';

export interface PresenterSettings extends TurnSettings {
  /** The fuel is that of all turns together; the times are those of one. */
  readonly guest: GuestBounds;
  /** Presentations that wait for a turn. */
  readonly waitingMax: number;
  /** What may be made ahead of the reader at first, and at most. */
  readonly aheadBytesMin: number;
  readonly aheadBytesMax: number;
  /** States, and what is ahead, of all presentations. */
  readonly heldBytesMax: number;
  readonly writeBytesMax: number;
  readonly bodyBytesMax: number;
  /** How long one may stand in its turn while nobody waits. */
  readonly idleMs: number;
  /** How long a guest has to end by itself when its reader has gone. */
  readonly graceMs: number;
}

const KIB = 1024;
const MIB = 1024 * KIB;

export const DEFAULT_PRESENTERS: PresenterSettings = {
  runningMax: DEFAULT_EXECUTORS.count,
  standMs: 20,
  guest: {
    limits: { fuel: 200_000_000_000, outputBytesMax: 512 * MIB, hostCallsMax: 1_000_000 },
    time: { wallMs: 65_000, cpuMs: 30_000 },
  },
  waitingMax: 1000,
  aheadBytesMin: 256 * KIB,
  aheadBytesMax: 4 * MIB,
  heldBytesMax: 256 * MIB,
  writeBytesMax: 256 * KIB,
  bodyBytesMax: 256 * MIB,
  idleMs: 1000,
  graceMs: 500,
};

/**
 * Executors for presenters alone: what stands still there keeps no fold and no decision waiting. They run when their
 * readers take something, and are niced as the others are.
 */
export const PRESENTER_EXECUTORS: ExecutorSettings = DEFAULT_EXECUTORS;

export interface PresenterTime {
  /** Runs something once, after so many milliseconds. Returns how to stop it. */
  after(delayMs: number, run: () => void): () => void;
  monotonicMs(): number;
}

export type PresenterExecutors = Pick<Executors, 'call'>;

export type Opened =
  | { readonly kind: 'begun'; readonly continuation: string | undefined; readonly body: OpenBody }
  | { readonly kind: 'failed'; readonly error: DatabaseError };

export interface OpenBody {
  /** The next part; not to be asked for twice at a time. */
  next(): Promise<PresentedPart>;
  /** No more is wanted. */
  cancel(): void;
}

export interface PresenterFigures {
  readonly running: number;
  readonly waiting: number;
  readonly heldBytes: number;
  readonly putAway: number;
}

export class Presenters {
  readonly #executors: PresenterExecutors;
  readonly #time: PresenterTime;
  readonly #settings: PresenterSettings;
  readonly #turns: PresenterTurns;
  #heldBytes = 0;
  #putAwayCount = 0;

  constructor(executors: PresenterExecutors, time: PresenterTime, settings: PresenterSettings = DEFAULT_PRESENTERS) {
    this.#executors = executors;
    this.#time = time;
    this.#settings = settings;
    this.#turns = new PresenterTurns(settings);
  }

  figures(): PresenterFigures {
    return {
      running: this.#turns.runningCount,
      waiting: this.#turns.waitingCount,
      heldBytes: this.#heldBytes,
      putAway: this.#putAwayCount,
    };
  }

  /** Resolves when something of the body is there, or all of it is; the signal: nobody wants it any longer. */
  async open(asked: PresentationAsked, signal?: AbortSignal): Promise<Opened> {
    const { aheadBytesMin, writeBytesMax, waitingMax } = this.#settings;
    const bytes = asked.state.length + aheadBytesMin + writeBytesMax;
    if (this.#turns.waitingCount >= waitingMax || !this.#hold(bytes)) return { kind: 'failed', error: busy() };
    let heldBytes = bytes;
    const presentation = new Presentation(asked, {
      executors: this.#executors,
      time: this.#time,
      settings: this.#settings,
      turns: this.#turns,
      grow: (moreBytes) => {
        const isHeld = this.#hold(moreBytes);
        heldBytes += isHeld ? moreBytes : 0;
        return isHeld;
      },
      onPutAway: () => void this.#putAwayCount++,
      onOver: () => void (this.#heldBytes -= heldBytes),
    });
    const cancel = (): void => presentation.cancel();
    signal?.addEventListener('abort', cancel);
    if (signal?.aborted === true) cancel();
    const error = await presentation.begun();
    signal?.removeEventListener('abort', cancel);
    if (error !== undefined) return { kind: 'failed', error };
    return { kind: 'begun', continuation: presentation.continuation, body: presentation };
  }

  #hold(bytes: number): boolean {
    if (this.#heldBytes + bytes > this.#settings.heldBytesMax) return false;
    this.#heldBytes += bytes;
    return true;
  }
}

function busy(): DatabaseError {
  return new DatabaseError('busy', 'Too many presentations are being made; try again.', {
    details: { reason: 'Busy' },
  });
}

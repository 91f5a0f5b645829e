/**
 * Presenters: produce a body from a rendered state, at the pace of the reader.
 *
 * ```
 *                 ┌──────── no executor is free ────────┐
 *   open ──▶ waiting ──▶ running ◀──▶ paused ────▶ suspended ──▶ waiting, when most of the output was read
 *                           │     the buffer is     others wait for an executor,
 *                           ▼     full              or it was paused for long
 *                          over: the end, a failure, cancelled, out of time
 * ```
 * A guest that writes waits in its call, in its executor, until the reader has taken enough. While it waits it occupies
 * the executor. It is therefore suspended when others wait, and starts again from its beginning when the reader has
 * caught up (presented-body.ts). Each time it may produce twice as much in advance, so that a slow reader of a long
 * body needs few turns.
 *
 *   F32 Memory of presentations in the node (states and unread output) is reserved before it is used.
 *   F33 A presentation ends at its deadline, or soon after its reader is gone, whatever its guest does.
 */
import { DatabaseError } from '#base';
import { Presentation } from './presentation.ts';
import type { PresentedPart } from './presented-body.ts';
import type { PresentationAsked } from './presenter-call.ts';
import {
  DEFAULT_PRESENTERS,
  type PresenterExecutors,
  type PresenterSettings,
  type PresenterTime,
} from './presenter-settings.ts';
import { PresenterTurns } from './presenter-turns.ts';

export type Opened =
  | { readonly kind: 'begun'; readonly continuation: string | undefined; readonly body: OpenBody }
  | { readonly kind: 'failed'; readonly error: DatabaseError };

export interface OpenBody {
  /** Returns the next part; one call at a time. */
  next(): Promise<PresentedPart>;
  /** Cancels the presentation. */
  cancel(): void;
}

export interface PresenterFigures {
  readonly running: number;
  readonly waiting: number;
  readonly heldBytes: number;
  readonly suspended: number;
}

export class Presenters {
  readonly #executors: PresenterExecutors;
  readonly #time: PresenterTime;
  readonly #settings: PresenterSettings;
  readonly #turns: PresenterTurns;
  #heldBytes = 0;
  #suspendedCount = 0;

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
      suspended: this.#suspendedCount,
    };
  }

  /** Resolves when a part or the end of the body is available. The signal cancels the presentation. */
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
      onSuspended: () => void this.#suspendedCount++,
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

/**
 * The slices of streaming reads, read a few in each turn of the event loop and by connection in turn (T10).
 *
 * Hundreds of readers that are all ready for their next slice would otherwise make a turn of the loop as long as all of
 * these slices take, and one who reads alone would get one slice in each such turn.
 */
import { Lines } from '../../turns-by-line.ts';
import { Rounds, type Waiting } from './rounds.ts';

/** Reading, framing and sending as many takes some milliseconds. */
const BYTES_PER_TURN = 512 * 1024;

/** A slice takes as long as one that is larger by so much, and has nothing beside it. */
const AROUND_SLICE_BYTES = 16 * 1024;

export class SliceTurns {
  readonly #rounds = new Rounds({ perTurn: BYTES_PER_TURN });
  /** The reads of a connection that wait for their turn. */
  readonly #lines = new Lines<Waiting>();

  /**
   * Nothing, or a promise of the turn of the connection, for a slice of so many bytes. It rejects when the signal comes
   * first.
   */
  take(connection: object, bytes: number, signal: AbortSignal): Promise<void> | undefined {
    const turn = Promise.withResolvers<void>();
    const cost = AROUND_SLICE_BYTES + bytes;
    const waiting = this.#rounds.begin(this.#lines.of(connection), turn.resolve, cost);
    return waiting === undefined ? undefined : this.#wait(waiting, turn, signal);
  }

  async #wait(waiting: Waiting, turn: PromiseWithResolvers<void>, signal: AbortSignal): Promise<void> {
    const giveUp = (): void => turn.resolve();
    signal.addEventListener('abort', giveUp);
    await turn.promise;
    signal.removeEventListener('abort', giveUp);
    waiting.forget();
    signal.throwIfAborted();
  }
}

/**
 * Queues for commands that have lost a conflict: their reads had changed before they could be committed.
 *
 * ```
 *   decided ──▶ committed
 *      │  ▲
 *      │  └───────────── its turn ◀── after those who have lost there before ◀───┐
 *      └─ what it read has changed, or others who have read the same wait ───────┘
 * ```
 * If all commands with the same reads tried again at once, only one of them would be committed each time, and the last
 * could lose forever. A command that has lost therefore waits in the lane of the selector, or of the database, that it
 * has lost by. A new command with the same reads queues after it. Lanes are local to a node and only improve fairness:
 * a command is still committed only if its guards hold.
 *
 *   F23 Commands that have lost by the same selector try again one at a time, in the order in which they
 *       lost, before any other command of this node that reads it. A waiting command holds no executor, is in at
 *       most one lane, and leaves the lane when it is done or cancelled.
 */
import { toHex } from '#base';
import { type Constraint, encodeSelector } from '#model';

/** Disposing it ends the turn. */
export type LaneTurn = Disposable;

interface Waiting {
  readonly begin: (turn: LaneTurn) => void;
}

/** Commands that wait for their turn. */
type Lane = Waiting[];

export class ConflictLanes {
  readonly #lanes: Map<string, Lane> = new Map();

  /** Number of lanes in use. */
  get size(): number {
    return this.#lanes.size;
  }

  /** Returns the first of these guards' lanes that is in use. */
  busy(databaseId: string, guards: readonly Constraint[]): string | undefined {
    if (this.#lanes.size === 0) return undefined;
    return guards.map((guard) => laneOf(databaseId, guard)).find((lane) => this.#lanes.has(lane));
  }

  /** Resolves when all earlier commands have left the lane. @throws the reason of the signal when it aborts first */
  turn(name: string, signal: AbortSignal | undefined): Promise<LaneTurn> {
    signal?.throwIfAborted();
    const lane = this.#lanes.get(name);
    if (lane === undefined) {
      this.#lanes.set(name, []);
      return Promise.resolve(this.#turnIn(name));
    }
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        lane.splice(lane.indexOf(waiting), 1);
        reject(reasonOf(signal));
      };
      const waiting: Waiting = {
        begin: (turn) => {
          signal?.removeEventListener('abort', leave);
          resolve(turn);
        },
      };
      lane.push(waiting);
      signal?.addEventListener('abort', leave, { once: true });
    });
  }

  #turnIn(name: string): LaneTurn {
    let isOver = false;
    return {
      [Symbol.dispose]: () => {
        if (isOver) return;
        isOver = true;
        const next = this.#lanes.get(name)?.shift();
        if (next === undefined) this.#lanes.delete(name);
        else next.begin(this.#turnIn(name));
      },
    };
  }
}

function reasonOf(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason;
  return reason instanceof Error ? reason : new Error('The request was cancelled', { cause: reason });
}

/** Lane of the commands with this guard. */
export function laneOf(databaseId: string, { selector }: Constraint): string {
  return selector === undefined ? databaseId : `${databaseId} ${toHex(encodeSelector(selector))}`;
}

/**
 * Where commands wait that have lost: what they were decided by had changed before they could be committed.
 *
 * ```
 *   decided ──▶ committed
 *      │  ▲
 *      │  └───────────── its turn ◀── behind those who have lost there before ◀──┐
 *      └─ what it read has changed, or others who have read the same wait ───────┘
 * ```
 * Commands that read the same thing and all try again at once make each other lose: of as many as there are, one is
 * committed, and whoever comes last may do so each time. So one that has lost takes its turn in the lane of what it has
 * lost by, a selector or the whole database, and one that comes meanwhile and has read the same goes behind those. A
 * lane is of one node and keeps nothing right: who holds its turn is committed only if its guards hold.
 *
 *   F23 Of the commands that have lost by the same selector one at a time tries again, in the order in which they
 *       lost, and nobody else of this node who has read it goes before them. One that waits holds no executor, has at
 *       most one lane, and leaves nothing behind when it is over or nobody waits for it any longer.
 */
import { toHex } from '#base';
import { type Constraint, encodeSelector } from '#model';

/** Ends the turn. */
export type LaneTurn = Disposable;

interface Waiting {
  readonly begin: (turn: LaneTurn) => void;
}

/** Those that wait behind the one whose turn it is. */
type Lane = Waiting[];

export class ConflictLanes {
  readonly #lanes: Map<string, Lane> = new Map();

  /** Lanes in which somebody has a turn. */
  get size(): number {
    return this.#lanes.size;
  }

  /** The lane of the first of these guards that has one. */
  busy(databaseId: string, guards: readonly Constraint[]): string | undefined {
    if (this.#lanes.size === 0) return undefined;
    return guards.map((guard) => laneOf(databaseId, guard)).find((lane) => this.#lanes.has(lane));
  }

  /** Resolves when everybody who was here before is gone. @throws the reason of the signal, when it aborts before. */
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
  return reason instanceof Error ? reason : new Error('Nobody waits any longer', { cause: reason });
}

/** Of whoever has read what the guard guards. */
export function laneOf(databaseId: string, { selector }: Constraint): string {
  return selector === undefined ? databaseId : `${databaseId} ${toHex(encodeSelector(selector))}`;
}

/** A budget of room at a time that a test moves, and takers of it. */
import type { Hold } from '../../src/transport/byte-budget.ts';
import { FairBudget, QUICK_MS, type Taker } from '../../src/transport/fair-budget.ts';
import { ManualTime } from './budget-time.ts';

export const NEVER: AbortSignal = new AbortController().signal;
export const nothing = (): void => undefined;
export const PATIENCE_MS = 10_000;
export const SLOW_MS: number = QUICK_MS + 250;

/** Of 32 bytes 24 are for all, and 8 for quick ones; a connection may have of these what it takes at once. */
const BYTES = 32;
export const COMMON = 24;

export interface Bench {
  readonly budget: FairBudget;
  readonly time: ManualTime;
  /** A taker of a connection of its own unless it is given. */
  readonly taker: (connection?: object) => Taker;
  /** One that was seen to be slow. */
  readonly slow: (connection?: object) => Taker;
  /** The whole common part is held by somebody who is not to be judged. */
  readonly fill: () => Hold;
}

export function benchOf(bytesMax: number = BYTES): Bench {
  const time = new ManualTime();
  const budget = new FairBudget({ bytesMax, patienceMs: PATIENCE_MS, time });
  const taker = (connection: object = {}): Taker => budget.taker(connection);
  const slow = (connection: object = {}): Taker => {
    const made = taker(connection);
    const hold = made.takeAnyway(1, nothing);
    sent(hold, time, SLOW_MS);
    return made;
  };
  return { budget, time, taker, slow, fill: () => taker().takeAnyway(COMMON, nothing) };
}

/** Sends what is held and lets go of it after so long. */
export function sent(hold: Hold | undefined, time: ManualTime, ms: number): void {
  hold?.renew();
  time.advance(ms);
  hold?.taken();
  hold?.release();
}

/** What is granted by and by. */
export class Grants {
  readonly names: string[] = [];
  readonly holds: Map<string, Hold> = new Map<string, Hold>();

  async ask(name: string, taker: Taker, bytes: number, signal: AbortSignal = NEVER): Promise<void> {
    const hold = await taker.take(bytes, nothing, signal);
    this.names.push(name);
    this.holds.set(name, hold);
  }
}

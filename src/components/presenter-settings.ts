/** How much presenters may take, and what they need of the node. */
import { DEFAULT_EXECUTORS, type ExecutorSettings, type Executors } from '#wasm';
import type { GuestBounds } from './batch-fold.ts';
import type { TurnSettings } from './presenter-turns.ts';

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
    time: { wallMs: 65_000, cpuMs: 30_000, quietCpuMs: 5_000 },
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

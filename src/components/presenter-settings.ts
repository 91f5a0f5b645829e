/** Limits of presenters, and the ports that they need. */
import type { Timers } from '#base';
import { DEFAULT_EXECUTORS, type Executors } from '#wasm';
import type { GuestBounds } from './batch-fold.ts';
import type { TurnSettings } from './presenter-turns.ts';

export interface PresenterSettings extends TurnSettings {
  /** The fuel is for all turns together, the times are per turn. */
  readonly guest: GuestBounds;
  /** Maximum number of presentations that wait for a turn. */
  readonly waitingMax: number;
  /** Amount that may be produced in advance: the initial and the maximum value. */
  readonly aheadBytesMin: number;
  readonly aheadBytesMax: number;
  /** Memory of all presentations: states and unread output. */
  readonly heldBytesMax: number;
  readonly writeBytesMax: number;
  readonly bodyBytesMax: number;
  /** Maximum wait in a write while no other presentation waits. */
  readonly idleMs: number;
  /** Time for a guest to end by itself after its reader is gone. */
  readonly graceMs: number;
}

const KIB = 1024;
const MIB = 1024 * KIB;

export const DEFAULT_PRESENTERS: PresenterSettings = {
  runningMax: DEFAULT_EXECUTORS.count,
  readerWaitMs: 20,
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

export type PresenterTime = Pick<Timers, 'after' | 'monotonicMs'>;
export type PresenterExecutors = Pick<Executors, 'call'>;

/** What a call of a guest is made of, whoever makes it. */
import type { WasiOptions } from './null-wasi.ts';

/** What a guest may take for one call. */
export interface CallLimits {
  /** Units of ADR 0087, of each core module. */
  readonly fuel: number;
  /** What may leave the guest: the answer, and what it hands to functions of the host. */
  readonly outputBytesMax: number;
  readonly hostCallsMax: number;
}

export interface Limited {
  readonly limits: CallLimits;
  readonly wasi: WasiOptions;
}

/** Which function of the binding of an artifact. */
export const BOUND = ['main', 'batch', 'query'] as const;
export type Bound = (typeof BOUND)[number];

/** What a call took. */
export interface Spent {
  /** Of all core modules together. */
  readonly fuel: number;
  /** Of the memories of the instance, when the call was over. */
  readonly memoryBytes: number;
  readonly hostCalls: number;
}

export const NOTHING_SPENT: Spent = { fuel: 0, memoryBytes: 0, hostCalls: 0 };

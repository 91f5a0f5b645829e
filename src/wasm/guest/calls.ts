/** Limits, options and costs of a call of a guest, and the bytes of its limits for another process. */
import { type Fields, fieldsOf, VARINT } from '#base';
import { BIGINT } from '../abi/value-codec.ts';
import type { WasiOptions } from './null-wasi.ts';

/** Limits of one call. */
export interface CallLimits {
  /** Units of ADR 0087, for each core module. */
  readonly fuel: number;
  /** Bytes that may leave the guest: the answer, and arguments of host functions. */
  readonly outputBytesMax: number;
  readonly hostCallsMax: number;
}

export interface Limited {
  readonly limits: CallLimits;
  readonly wasi: WasiOptions;
}

/** Names of the functions that an artifact binds. */
export const BOUND = ['main', 'batch', 'query'] as const;
export type Bound = (typeof BOUND)[number];

/** Resources that a call used. */
export interface Spent {
  /** Sum over all core modules. */
  readonly fuel: number;
  /** Size of the instance's memories when the call was over. */
  readonly memoryBytes: number;
  readonly hostCalls: number;
}

export const NOTHING_SPENT: Spent = { fuel: 0, memoryBytes: 0, hostCalls: 0 };

export const LIMITED: Fields<Limited> = {
  limits: fieldsOf<CallLimits>({ fuel: VARINT, outputBytesMax: VARINT, hostCallsMax: VARINT }),
  wasi: fieldsOf<WasiOptions>({ timeNs: BIGINT, seed: BIGINT }),
};

/** Encodes the limits of a call, and the clock options of the guest, for another process. */
import { type Fields, fieldsOf, VARINT } from '#base';
import { BIGINT } from '../abi/value-codec.ts';
import type { CallLimits, Limited } from './calls.ts';
import type { WasiOptions } from './null-wasi.ts';

export const LIMITED: Fields<Limited> = {
  limits: fieldsOf<CallLimits>({ fuel: VARINT, outputBytesMax: VARINT, hostCallsMax: VARINT }),
  wasi: fieldsOf<WasiOptions>({ timeNs: BIGINT, seed: BIGINT }),
};

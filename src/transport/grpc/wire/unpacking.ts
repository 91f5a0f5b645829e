/**
 * Compressed messages. grpc-js could unpack them, and would say of one that is none no more than that: it is told of no
 * compression, and hands over the bytes as they came.
 */
import { gunzip, inflate } from 'node:zlib';
import type { FrameFault, Packing } from './frame-faults.ts';

export type Unpacked =
  | { readonly kind: 'message'; readonly message: Uint8Array }
  | { readonly kind: 'fault'; readonly fault: FrameFault };

/** Unpacks in a thread of the pool; never more than `bytesMax` bytes. */
export function unpack(message: Uint8Array, encoding: Packing, bytesMax: number): Promise<Unpacked> {
  const decompress = encoding === 'gzip' ? gunzip : inflate;
  return new Promise((resolve) => {
    decompress(message, { maxOutputLength: bytesMax }, (error, unpacked) => {
      if (error === null) resolve({ kind: 'message', message: unpacked });
      else resolve({ kind: 'fault', fault: faultOf(error, encoding, bytesMax) });
    });
  });
}

function faultOf(error: NodeJS.ErrnoException, encoding: Packing, bytesMax: number): FrameFault {
  if (error.code === 'ERR_BUFFER_TOO_LARGE') return { kind: 'unpacked-too-long', encoding, bytesMax };
  return { kind: 'not-packed', encoding, why: error.message };
}

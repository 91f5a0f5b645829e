/** Compression of replies, in the pool of threads that the writes of the store use, too. */
import { gzip } from 'node:zlib';

/** Replies that a server compresses at a time. */
export const GZIP_AT_ONCE = 2;

/** The fastest level: it saves most of the bytes that can be saved. */
const LEVEL = 1;

/** Undefined when the result would be longer, or there is no memory for it. */
export function gzipped(bytes: Uint8Array, bytesMax: number): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    gzip(bytes, { level: LEVEL, maxOutputLength: bytesMax }, (error, packed) => {
      resolve(error === null ? packed : undefined);
    });
  });
}

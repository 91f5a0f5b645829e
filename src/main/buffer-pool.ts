/**
 * Size of the pool from which Node.js allocates small Buffers, and results of Buffer.concat up to half its size.
 *
 * The default is 64 KiB. A small Buffer keeps its whole pool alive and cannot be released alone: an answered request of
 * 28 KiB stays in memory, with everything else in its pool, until V8 collects its whole heap. With a pool of 8 KiB such
 * a request gets a buffer of its own, which `giveBack` frees (ADR 0017).
 */
const POOL_BYTES = 8 * 1024;

/** Takes effect for this thread, from the next pool on. */
export function narrowBufferPool(): void {
  Buffer.poolSize = POOL_BYTES;
}

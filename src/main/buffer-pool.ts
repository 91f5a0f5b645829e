/**
 * The pool that Node cuts small Buffers from, and Buffer.concat messages up to half its size.
 *
 * Node makes it 64 KiB. A piece of it keeps all of it, and cannot be given back alone: a request of 28 KiB that has
 * been answered stays with whatever else was cut from the same pool, until V8 collects its whole heap. In a pool of 8
 * KiB it finds no room, and has a buffer of its own that `giveBack` frees (ADR 0040).
 */
const POOL_BYTES = 8 * 1024;

/** For this thread, from the next pool on. */
export function narrowBufferPool(): void {
  Buffer.poolSize = POOL_BYTES;
}

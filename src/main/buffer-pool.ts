/**
 * The pool that Node cuts small Buffers from, and Buffer.concat messages up to half its size.
 *
 * Node makes it 64 KiB. A piece of it keeps all of it and cannot be released alone: an answered request of 28 KiB
 * stays with everything else that was cut from the same pool until V8 collects its whole heap. It does not fit into a
 * pool of 8 KiB, so it has a buffer of its own that `giveBack` frees (ADR 0017).
 */
const POOL_BYTES = 8 * 1024;

/** For this thread, from the next pool on. */
export function narrowBufferPool(): void {
  Buffer.poolSize = POOL_BYTES;
}

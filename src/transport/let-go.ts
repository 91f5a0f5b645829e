/** Frees long requests once they are answered. */
import { DatabaseError, giveBack } from '#base';

/**
 * Handles a request, then frees it, which is memory of its own: an idle garbage collector would keep it for hours.
 * After a failure that is not a fault of the request it stays, because another node may be asked. `besides`: bytes
 * around it in its buffer.
 */
export async function lettingGo<Reply>(
  request: Uint8Array,
  besides: number,
  work: () => Promise<Reply>,
): Promise<Reply> {
  try {
    const reply = await work();
    giveBack(request, besides);
    return reply;
  } catch (failure) {
    if (failure instanceof DatabaseError && FINAL.has(failure.code)) giveBack(request, besides);
    throw failure;
  }
}

const FINAL: ReadonlySet<string> = new Set(['invalid_argument', 'too_large']);

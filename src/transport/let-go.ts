/** Requests that are long, and not needed any more once they are answered. */
import { DatabaseError, giveBack } from '#base';

/**
 * Does the work that a request asks for, then frees the request, which is memory of its own: a collector that has
 * little to do would leave it for hours. Where the work fails in another way than by what the request says, the request
 * stays, because another node may be asked for the same. `besides`: bytes that stand around it in its memory.
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

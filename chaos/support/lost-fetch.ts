/** Messages of fetch for a connection that was lost before or during the reply. */
const LOST: ReadonlySet<string> = new Set(['fetch failed', 'terminated']);

/** True when the connection was lost or the reply timed out, so that the outcome of the request is unknown. */
export function isLostFetch(failure: unknown): boolean {
  if (failure instanceof TypeError) return LOST.has(failure.message);
  return failure instanceof Error && failure.name === 'TimeoutError';
}

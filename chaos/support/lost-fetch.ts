/** How fetch says that the connection was lost before the answer, or within it. */
const LOST: ReadonlySet<string> = new Set(['fetch failed', 'terminated']);

/** Whether the connection was lost, or the answer did not come in time: nobody knows what became of the request. */
export function isLostFetch(failure: unknown): boolean {
  if (failure instanceof TypeError) return LOST.has(failure.message);
  return failure instanceof Error && failure.name === 'TimeoutError';
}

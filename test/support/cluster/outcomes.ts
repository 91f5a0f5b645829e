/** Outcomes of requests: `answered`, or the reason of the failure. */
import type { DatabaseError } from '#base';

export async function reasonOf(asked: Promise<unknown>): Promise<string | undefined> {
  try {
    await asked;
    return 'answered';
  } catch (error) {
    return (error as DatabaseError).details.reason;
  }
}

/** The outcome of a request so far; undefined while it waits. */
export function watch(asked: Promise<unknown>): { readonly end: string | undefined } {
  const watched: { end: string | undefined } = { end: undefined };
  void reasonOf(asked).then((end) => (watched.end = end));
  return watched;
}

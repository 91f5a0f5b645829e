/** Work that may have to wait. */

/** Continues with the value: at once unless it is a promise, so that what is in memory costs no turn. */
export function whenDone<Value, Result>(
  value: Value | Promise<Value>,
  then: (value: Value) => Result | Promise<Result>,
): Result | Promise<Result> {
  return value instanceof Promise ? value.then(then) : then(value);
}

/** Handles a failure of the work, whether it fails now or later. */
export function caught<Value, Other>(
  work: () => Promise<Value>,
  handle: (failure: unknown) => Other,
): Promise<Value | Other>;
export function caught<Value, Other>(work: () => Value, handle: (failure: unknown) => Other): Value | Other;
export function caught(work: () => unknown, handle: (failure: unknown) => unknown): unknown {
  try {
    const result = work();
    return result instanceof Promise ? result.catch(handle) : result;
  } catch (failure) {
    return handle(failure);
  }
}

/** A handler for which failures of a kind are no failures. */
export function ignoring(isExpected: (failure: unknown) => boolean): (failure: unknown) => undefined {
  return (failure) => {
    if (!isExpected(failure)) throw failure;
  };
}

/**
 * Works on so many items at a time. After a failure nothing more is begun, and nothing is in progress when the promise
 * is rejected.
 */
export async function inParallel<Item>(
  atOnce: number,
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const left = [...items];
  const worker = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) {
      await work(item).catch((failure: unknown) => {
        left.length = 0;
        throw failure;
      });
    }
  };
  const workers = Array.from({ length: Math.min(atOnce, items.length) }, worker);
  await Promise.allSettled(workers);
  await Promise.all(workers);
}

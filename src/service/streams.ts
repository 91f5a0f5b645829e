/**
 * Open streaming reads: their number, their metrics, their spans from the first slice to the last, and turns of the
 * event loop for other work (V7).
 */
import type { ServiceContext } from './context.ts';
import type { ReadView } from './instance.ts';
import type { StreamOperation } from './meters.ts';
import type { ReadRequest } from './operations.ts';

interface StreamedRead<Item> {
  readonly view: ReadView;
  readonly op: StreamOperation;
  readonly slices: AsyncIterable<readonly Item[]>;
}

/** Passes on the slices of a read, and ends with the signal or with the instance. */
export async function* watchedSlices<Item>(
  { meters, streams, reads, timers }: ServiceContext,
  { signal, span: parent }: ReadRequest,
  { view, op, slices }: StreamedRead<Item>,
): AsyncGenerator<readonly Item[]> {
  const startedAt = timers.monotonicMs();
  const span = parent?.child('cairn.read_slices', 'internal');
  let [eventCount, sliceCount] = [0, 0];
  try {
    streams.open();
    meters.streams(op, 1);
    try {
      let isFirst = true;
      for await (const slice of reads.stream(view.binding, slices, signal)) {
        signal.throwIfAborted();
        if (slice.length > 0) {
          meters.eventsReturned.add(slice.length);
          eventCount += slice.length;
          sliceCount += 1;
          yield slice;
        }
        // Other work waits for one slice of a few milliseconds at most.
        if (!isFirst) await timers.turn();
        isFirst = false;
      }
      signal.throwIfAborted();
    } finally {
      streams.close();
      meters.streams(op, -1);
      meters.query(op, (timers.monotonicMs() - startedAt) / 1000);
    }
  } catch (failure) {
    span?.fail(failure);
    throw failure;
  } finally {
    span?.set({ 'cairn.events': eventCount, 'cairn.slices': sliceCount });
    span?.end();
  }
}

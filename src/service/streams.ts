/** Open streaming reads: their number, their metrics, and turns of the event loop for other work (V7). */
import type { ServiceContext } from './context.ts';
import type { ReadView } from './instance.ts';
import type { StreamOperation } from './meters.ts';

export interface MeteredRead<Item> {
  readonly view: ReadView;
  readonly op: StreamOperation;
  readonly signal: AbortSignal;
  readonly slices: AsyncIterable<readonly Item[]>;
}

/** Passes on the slices of a read, counts them, and ends with the signal or with the instance. */
export async function* meteredSlices<Item>(
  context: ServiceContext,
  read: MeteredRead<Item>,
): AsyncGenerator<readonly Item[]> {
  const { meters, streams, reads, timers } = context;
  const startedAt = timers.monotonicMs();
  streams.open();
  meters.streams(read.op, 1);
  try {
    let isFirst = true;
    for await (const slice of reads.stream(read.view.binding, read.slices, read.signal)) {
      read.signal.throwIfAborted();
      if (slice.length > 0) {
        meters.eventsReturned.add(slice.length);
        yield slice;
      }
      // Other work waits for one slice of a few milliseconds at most.
      if (!isFirst) await timers.turn();
      isFirst = false;
    }
    read.signal.throwIfAborted();
  } finally {
    streams.close();
    meters.streams(read.op, -1);
    meters.query(read.op, (timers.monotonicMs() - startedAt) / 1000);
  }
}

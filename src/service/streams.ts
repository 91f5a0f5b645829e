/** Open streaming reads: their number, their metrics, and turns of the event loop for other work (V7). */
import type { StoredEvent } from '#query';
import type { ServiceContext } from './context.ts';
import type { ReadView } from './instance.ts';
import type { StreamOperation } from './meters.ts';

export interface MeteredRead<Slice> {
  readonly view: ReadView;
  readonly op: StreamOperation;
  readonly signal: AbortSignal;
  readonly slices: AsyncIterable<Slice>;
  readonly eventCountOf: (slice: Slice) => number;
}

/** Passes on the slices of a read, counts them, and ends with the signal or with the instance. */
export async function* meteredSlices<Slice>(context: ServiceContext, read: MeteredRead<Slice>): AsyncGenerator<Slice> {
  const { meters, streams, reads, timers } = context;
  const startedAt = timers.monotonicMs();
  streams.open();
  meters.streams(read.op, 1);
  try {
    let isFirst = true;
    for await (const slice of reads.stream(read.view.binding, read.slices, read.signal)) {
      read.signal.throwIfAborted();
      const eventCount = read.eventCountOf(slice);
      if (eventCount > 0) {
        meters.eventsReturned.add(eventCount);
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

export function countOfEvents(events: readonly StoredEvent[]): number {
  return events.length;
}

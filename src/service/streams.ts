/**
 * Streaming reads while they are open: how many there are, what they return, and turns for everybody else (V7).
 */
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

/** The slices of a read, watched over: counted, ended by the signal or the end of the instance. */
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
      // A slice of a few milliseconds is what anybody else waits for, and no more.
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

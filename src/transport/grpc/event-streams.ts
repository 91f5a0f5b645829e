/**
 * The streaming reads: events, batches of events, the log, and live tails.
 *
 * Each slice of a read becomes one write of many framed messages, assembled from stored bytes. The writer decides the
 * size of a slice, and when the next one is read (slice-writer.ts, T4).
 */
import { EventFrames, type FrameOptions, frameTransactions, type ReadScope, type StoredEvent } from '#service';
import { SubscribeEventsReply } from '../../../proto/gen/cairn/v1/database.ts';
import { parseQueryRequest, parseScanRequest, parseSubscriptionRequest } from './event-requests.ts';
import { EVENT_STORE, floorsOf, type GrpcContext } from './metadata.ts';
import { SliceWriter } from './slice-writer.ts';
import { frameReply } from './unary.ts';
import type { Call } from './wire/call.ts';
import type { ServerStreamMethod } from './wire/method.ts';

type Handler = (context: GrpcContext, call: Call, bytes: Uint8Array, writer: SliceWriter) => Promise<void>;

export function streamMethods(context: GrpcContext): readonly ServerStreamMethod[] {
  const handlers: Readonly<Record<string, Handler>> = {
    QueryEvents: queryEvents('messages'),
    QueryEventBatches: queryEvents('batch'),
    ScanDatabaseLog: scanDatabaseLog,
    ScanLogBatches: scanLogBatches,
    SubscribeEvents: subscribeEvents,
  };
  return Object.entries(handlers).map(([name, handler]) => ({
    kind: 'server_stream',
    service: EVENT_STORE,
    name,
    waits: handler === subscribeEvents,
    handle: async (call, bytes) => {
      using writer = new SliceWriter(call);
      await handler(context, call, bytes, writer);
    },
  }));
}

/** Members of every read that are not in its message. */
function readBy(call: Call, pace: SliceWriter) {
  return { signal: call.signal, ...floorsOf(call), pace, lent: true };
}

function queryEvents(framing: 'messages' | 'batch'): Handler {
  return async ({ service }, call, bytes, writer) => {
    const reply = await service.queryEvents({ ...parseQueryRequest(bytes), ...readBy(call, writer) });
    await sendEvents(writer, reply, { framing, readAt: reply.revision });
  };
}

const scanDatabaseLog: Handler = async ({ service }, call, bytes, writer) => {
  const reply = await service.scanLog({ ...parseScanRequest(bytes), ...readBy(call, writer) });
  await sendEvents(writer, reply, { framing: 'messages', logScan: true });
};

const scanLogBatches: Handler = async ({ service }, call, bytes, writer) => {
  const reply = await service.scanLogBatches({ ...parseScanRequest(bytes), ...readBy(call, writer) });
  writer.begin(reply);
  for await (const transactions of reply.batches) await writer.write(frameTransactions(transactions), 1);
  await writer.end();
};

const subscribeEvents: Handler = async ({ service }, call, bytes, writer) => {
  const reply = await service.subscribe({ ...parseSubscriptionRequest(bytes), ...readBy(call, writer) });
  writer.begin(reply);
  for await (const item of reply.items) {
    if (item.kind === 'events') {
      await writer.write(frameEvents(item.events, { framing: 'replies' }), item.events.length);
    } else {
      const { position, revision } = item;
      const message = { $case: 'heartbeat', value: { position, revision } } as const;
      await writer.write(frameReply(SubscribeEventsReply, { message }), 1);
    }
  }
};

interface EventsReply extends ReadScope {
  readonly chunks: AsyncIterable<readonly StoredEvent[]>;
}

async function sendEvents(writer: SliceWriter, reply: EventsReply, options: FrameOptions): Promise<void> {
  writer.begin(reply);
  for await (const events of reply.chunks) {
    const count = options.framing === 'batch' ? 1 : events.length;
    await writer.write(frameEvents(events, options), count);
  }
  await writer.end();
}

/** Bytes around an event: its frame, its wrapper, and fields of the server, without changed ids. */
const AROUND_EVENT_BYTES = 96;

/** One slice in one buffer, which is large enough from the start. */
function frameEvents(events: readonly StoredEvent[], options: FrameOptions): Uint8Array {
  let startBytes = AROUND_EVENT_BYTES;
  for (const { bytes } of events) startBytes += bytes.length + AROUND_EVENT_BYTES;
  const frames = new EventFrames({ ...options, startBytes });
  for (const event of events) frames.append(event);
  return frames.take();
}

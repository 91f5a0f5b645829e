/**
 * The streaming reads: events, batches of events, the log, and live tails.
 *
 * Each slice of a read becomes one write of many framed messages, put together from stored bytes. The next slice is read
 * while the last one leaves, and not written before it has left: two slices are what a reader of any speed costs (T4).
 */
import { EventFrames, type FrameOptions, frameMessage, type ReadScope, type StoredEvent } from '#service';
import { EVENT_STORE, type GrpcContext } from './context.ts';
import { parseQueryRequest, parseScanRequest, parseSubscriptionRequest } from './event-requests.ts';
import { SubscribeEventsReply } from './gen/cairn/v1/database.ts';
import { frameReply } from './messages.ts';
import { minRevisionOf, scopeHeaders } from './metadata.ts';
import type { Call } from './wire/call.ts';
import type { ServerStreamMethod } from './wire/method.ts';

type Handler = (context: GrpcContext, call: Call, bytes: Uint8Array) => Promise<void>;

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
    handle: (call, bytes) => handler(context, call, bytes),
  }));
}

function queryEvents(framing: 'messages' | 'batch'): Handler {
  return async ({ service }, call, bytes) => {
    const read = { ...parseQueryRequest(bytes), signal: call.signal, ...minRevisionOf(call) };
    const reply = await service.queryEvents(read);
    await sendEvents(call, reply, { framing });
  };
}

const scanDatabaseLog: Handler = async ({ service }, call, bytes) => {
  const read = { ...parseScanRequest(bytes), signal: call.signal, ...minRevisionOf(call) };
  const reply = await service.scanLog(read);
  await sendEvents(call, reply, { framing: 'messages', logScan: true });
};

const scanLogBatches: Handler = async ({ service }, call, bytes) => {
  const read = { ...parseScanRequest(bytes), signal: call.signal, ...minRevisionOf(call) };
  const reply = await service.scanLogBatches(read);
  const writer = new SliceWriter(call, reply);
  for await (const batches of reply.batches) {
    await writer.write(Buffer.concat(batches.map(frameMessage)), batches.length);
  }
  await writer.flushed();
};

const subscribeEvents: Handler = async ({ service }, call, bytes) => {
  const read = { ...parseSubscriptionRequest(bytes), signal: call.signal, ...minRevisionOf(call) };
  const reply = await service.subscribe(read);
  const writer = new SliceWriter(call, reply);
  const frames = new EventFrames({ framing: 'replies' });
  for await (const item of reply.items) {
    if (item.kind === 'events') {
      for (const event of item.events) frames.append(event);
      await writer.write(frames.take(), item.events.length);
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

async function sendEvents(call: Call, reply: EventsReply, options: FrameOptions): Promise<void> {
  const writer = new SliceWriter(call, reply);
  const frames = new EventFrames(options);
  for await (const events of reply.chunks) {
    for (const event of events) frames.append(event);
    const count = options.framing === 'batch' ? 1 : events.length;
    await writer.write(frames.take(), count);
  }
  await writer.flushed();
}

/** Sends the headers at once, then slice after slice, each when the one before has left. */
class SliceWriter {
  readonly #call: Call;
  #leaving: Promise<void> = Promise.resolve();

  constructor(call: Call, scope: ReadScope) {
    this.#call = call;
    call.begin(scopeHeaders(scope));
  }

  async write(frames: Uint8Array, count: number): Promise<void> {
    await this.#leaving;
    this.#call.signal.throwIfAborted();
    this.#call.write(frames, count);
    this.#leaving = this.#call.drained();
  }

  /** Resolves when everything has left. */
  flushed(): Promise<void> {
    return this.#leaving;
  }
}

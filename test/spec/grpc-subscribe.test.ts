// A subscription delivers past events, follows new ones, sends heartbeats, can be resumed, and does not slow down
// writers.
import type { ClientReadableStream } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { type SubscribeEventsReply, SubscribeEventsRequest } from '../../proto/gen/cairn/v1/database.ts';
import { failureOf, iterate } from '../support/grpc-client.ts';
import { event, transaction, uniqueName } from '../support/grpc-requests.ts';
import { sharedServer } from '../support/shared-servers.ts';

const server = await sharedServer();

type RequestParts = Parameters<typeof SubscribeEventsRequest.fromPartial>[0];

async function commit(name: string, count: number, source: string = 'orders'): Promise<void> {
  for (let n = 0; n < count; n++) {
    const events = [event({ id: `${n}`, source }), event({ id: `${n}b`, source })];
    await server.client.send('transact', transaction(name, events));
  }
}

function subscribe(databaseName: string, parts: RequestParts = {}): ClientReadableStream<SubscribeEventsReply> {
  const request = SubscribeEventsRequest.fromPartial({ databaseName, ...parts });
  return server.client.open('subscribeEvents', request, { deadlineMs: 15_000 });
}

async function take(
  stream: ClientReadableStream<SubscribeEventsReply>,
  enough: (replies: readonly SubscribeEventsReply[]) => boolean,
): Promise<readonly SubscribeEventsReply[]> {
  const replies: SubscribeEventsReply[] = [];
  for await (const reply of iterate(stream)) {
    replies.push(reply);
    if (enough(replies)) break;
  }
  stream.cancel();
  return replies;
}

function eventsOf(replies: readonly SubscribeEventsReply[]): readonly string[] {
  return replies.flatMap(({ message }) =>
    message?.$case === 'event' ? [`${message.value.revision}.${message.value.index}`] : [],
  );
}

function placesOf(revisions: readonly number[]): readonly string[] {
  return revisions.flatMap((revision) => [`${revision}.0`, `${revision}.1`]);
}

describe('SPEC-GRPC-SUBSCRIBE-EVENTS', () => {
  it('begins with new events, after the last position of the latest revision', async () => {
    const name = await server.client.created();
    const stream = subscribe(name, { after: { revision: 0, index: 999 } });
    await new Promise((resolve) => stream.once('metadata', resolve));
    const taken = take(stream, (some) => eventsOf(some).length >= 2);
    await commit(name, 1);
    expect(eventsOf(await taken)).toEqual(placesOf([1]));
  });

  it('delivers every event once to a reader that reconnects repeatedly', async () => {
    const name = await server.client.created();
    const seen: string[] = [];
    let after: { readonly revision: number; readonly index: number } | undefined;
    const writing = commit(name, 20);
    while (seen.length < 40) {
      const replies = await take(subscribe(name, { after, heartbeatMs: 100 }), (some) => some.length >= 3);
      seen.push(...eventsOf(replies));
      const { message } = replies.at(-1) ?? {};
      if (message?.$case === 'event') after = { revision: message.value.revision, index: message.value.index };
      else if (message?.$case === 'heartbeat') after = message.value.position;
    }
    await writing;
    expect(seen).toEqual(placesOf(Array.from({ length: 20 }, (_, at) => at + 1)));
  });

  it('sends heartbeats with the position to resume from while there are no events', async () => {
    const name = await server.client.created();
    await commit(name, 1, 'carts');
    const stream = subscribe(name, { eventSelection: { selectors: [{ stream: 'orders' }] }, heartbeatMs: 100 });
    const replies = await take(stream, (some) => some.length >= 2);
    for (const { message } of replies) {
      expect(message).toMatchObject({ $case: 'heartbeat', value: { revision: 1, position: { revision: 1 } } });
    }
    const [first] = replies;
    const position = first?.message?.$case === 'heartbeat' ? first.message.value.position : undefined;
    await commit(name, 1);
    const told = eventsOf(await take(subscribe(name, { after: position }), (some) => some.length >= 2));
    expect(told).toEqual(placesOf([2]));
  });

  it('does not slow down a writer when its reader stops reading, and misses no event when it reads again', async () => {
    const name = await server.client.created();
    const big = Buffer.alloc(400_000, 'x');
    const stream = subscribe(name);
    stream.pause();
    const transactions = 16;
    for (let n = 0; n < transactions; n++) {
      await server.client.send('transact', transaction(name, [event({ id: `${n}`, data: big })]));
    }
    const replies = await take(stream, (some) => eventsOf(some).length >= transactions);
    expect(eventsOf(replies)).toEqual(Array.from({ length: transactions }, (_, at) => `${at + 1}.0`));
  });

  it('is refused for a position beyond the database, a missing database and a heartbeat out of bounds', async () => {
    const name = await server.client.created();
    const fail = (databaseName: string, parts: RequestParts): Promise<{ code: string; fields: readonly string[] }> =>
      failureOf(take(subscribe(databaseName, parts), () => false));
    expect((await fail(name, { after: { revision: 1, index: 0 } })).code).toBe('NOT_FOUND');
    expect((await fail(uniqueName(), {})).code).toBe('NOT_FOUND');
    expect(await fail(name, { heartbeatMs: 99 })).toMatchObject({ code: 'INVALID_ARGUMENT', fields: ['heartbeat_ms'] });
    expect((await fail(name, { heartbeatMs: 60_001 })).code).toBe('INVALID_ARGUMENT');
  });
});

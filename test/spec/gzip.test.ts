// Replies are compressed over gRPC and HTTP at both nodes of a cluster. A relayed call asks for the identity encoding
// (ADR 0085).
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingHttpHeaders } from 'node:http2';
import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  FetchTransactionReply,
  FetchTransactionRequest,
  QueryEventsRequest,
  ScanDatabaseLogRequest,
} from '../../proto/gen/cairn/v1/database.ts';
import { EventStoreService } from '../../proto/gen/cairn/v1/event_store.ts';
import { RELAYED } from '../../src/transport/relay.ts';
import { event, transaction } from '../support/grpc-requests.ts';
import { cloudEvent } from '../support/http-client.ts';
import { framed, RawGrpc, type RawReply } from '../support/raw-grpc.ts';
import { startTwoNodes } from '../support/two-nodes.ts';
import { ask } from '../support/undecoded-http.ts';

const databaseName = 'shop';
const TRANSACTION_ID = '00000000-0000-4000-8000-000000000001';
const CREATED = 'http2.server.stream.created';
const PAGE = '/db/shop/1/events';
const TYPES = ['application/json', 'text/html', 'text/plain'];

const nodes = await startTwoNodes(databaseName, '--grpc-gzip-bytes=4KiB', '--http-gzip-bytes=1KiB');
const textOf = (n: number): string => 'what an event says '.repeat(n === 0 ? 500 : 2);
const dataOf = (n: number): Buffer => Buffer.from(JSON.stringify({ n, text: textOf(n) }));
const events = Array.from({ length: 200 }, (_, n) => event({ id: `e-${n}`, data: dataOf(n) }));

beforeAll(async () => {
  await nodes.holder.client.send('transact', transaction(databaseName, events, { transactionId: TRANSACTION_ID }));
}, 60_000);

async function fetched(port: number, headers: Record<string, string>): Promise<RawReply> {
  const raw = new RawGrpc(port);
  const request = FetchTransactionRequest.encode({ databaseName, transactionId: TRANSACTION_ID }).finish();
  const reply = await raw.call({ path: EventStoreService.fetchTransaction.path, pieces: [framed(request)], headers });
  await raw.close();
  return reply;
}

function messageOf({ body }: RawReply): FetchTransactionReply {
  const bytes = body.subarray(5);
  return FetchTransactionReply.decode(body[0] === 1 ? gunzipSync(bytes) : bytes);
}

describe('SPEC-GRPC-GZIP', () => {
  it.each(['holder', 'other'] as const)('the %s compresses a long reply for clients that accept it', async (which) => {
    const { port } = nodes[which];
    const packed = await fetched(port, { 'grpc-accept-encoding': 'identity,gzip' });
    const plain = await fetched(port, {});
    expect([packed.headers['grpc-encoding'], packed.body[0], packed.status]).toEqual(['gzip', 1, 0]);
    expect([plain.headers['grpc-encoding'], plain.body[0], plain.status]).toEqual(['identity', 0, 0]);
    expect(packed.body.length).toBeLessThan(plain.body.length / 2);
    expect(messageOf(packed)).toEqual(messageOf(plain));
  });

  it.each(['holder', 'other'] as const)(
    'grpc-js reads compressed replies and streams of the %s unchanged',
    async (which) => {
      const { client } = nodes[which];
      const plain = messageOf(await fetched(nodes[which].port, {}));
      expect(await client.send('fetchTransaction', { databaseName, transactionId: TRANSACTION_ID })).toEqual(plain);
      const query = QueryEventsRequest.fromPartial({ databaseName, query: {} });
      const { messages } = await client.collect('queryEvents', query);
      expect(messages.map(({ id, data }) => [id, data])).toEqual(events.map(({ id, data }) => [id, data]));
      const batches = await client.collect('queryEventBatches', query);
      expect(batches.messages.flatMap((batch) => batch.events)).toEqual(messages);
      const logged = await client.collect('scanLogBatches', ScanDatabaseLogRequest.fromPartial({ databaseName }));
      expect(logged.messages.flatMap(({ transactions }) => transactions)).toHaveLength(1);
    },
  );

  it('asks another node for an uncompressed reply when it relays', async () => {
    const asked: IncomingHttpHeaders[] = [];
    const note = (message: unknown): void => {
      if (typeof message === 'object' && message !== null && 'headers' in message) {
        const headers = message.headers as IncomingHttpHeaders;
        if (headers[RELAYED] !== undefined) asked.push(headers);
      }
    };
    subscribe(CREATED, note);
    await fetched(nodes.other.port, { 'grpc-accept-encoding': 'gzip' });
    unsubscribe(CREATED, note);
    expect(asked.map((headers) => headers['grpc-accept-encoding'])).toEqual([undefined]);
  });
});

describe.each([
  ['the node that holds the database', nodes.holder.http],
  ['another node', nodes.other.http],
])('SPEC-HTTP-GZIP at %s', (_which, address) => {
  it.each(TYPES)('a page of %s has a plain and a compressed form with the same tag', async (accept) => {
    const plain = await ask(address, PAGE, { accept });
    const packed = await ask(address, PAGE, { accept, 'accept-encoding': 'gzip, br' });
    expect([plain.status, plain.headers['content-encoding']]).toEqual([200, undefined]);
    expect([packed.status, packed.headers['content-encoding']]).toEqual([200, 'gzip']);
    expect(gunzipSync(packed.bytes).equals(plain.bytes)).toBe(true);
    expect(packed.headers.etag).toMatch(/^W\/".+"$/);
    expect([packed.headers.etag, packed.headers.vary]).toEqual([plain.headers.etag, plain.headers.vary]);
    expect(plain.headers.vary).toBe('accept, accept-encoding');
    expect(plain.headers['content-type']).toBe(packed.headers['content-type']);
    for (const encodings of ['identity', 'gzip']) {
      const known = { accept, 'accept-encoding': encodings, 'if-none-match': packed.headers.etag ?? '' };
      const { status, headers, bytes } = await ask(address, PAGE, known);
      expect([status, headers.etag, headers.vary]).toEqual([304, packed.headers.etag, packed.headers.vary]);
      expect([headers['content-encoding'], bytes.length]).toEqual([undefined, 0]);
    }
    const head = await ask(address, PAGE, { accept, 'accept-encoding': 'gzip' }, { method: 'HEAD' });
    const told = [head.headers['content-encoding'], head.headers['content-length'], head.headers.etag];
    expect(told).toEqual(['gzip', packed.headers['content-length'], packed.headers.etag]);
  });

  it('a client that accepts no known encoding gets the plain answer', async () => {
    const { status, headers, bytes } = await ask(address, PAGE, { 'accept-encoding': 'br, identity;q=0' });
    expect([status, headers['content-encoding']]).toEqual([200, undefined]);
    expect(JSON.parse(bytes.toString())).toMatchObject({ events: expect.any(Array) });
  });

  it('answers to writes and refusals are compressed, too, and keep their status', async () => {
    const only = { 'accept-encoding': 'gzip, identity;q=0', 'content-type': 'application/json' };
    const body = JSON.stringify({ events: [cloudEvent('later')] });
    const written = await ask(address, '/databases/shop/events', only, { method: 'POST', body });
    expect([written.status, written.headers['content-encoding']]).toEqual([200, 'gzip']);
    expect(JSON.parse(gunzipSync(written.bytes).toString())).toMatchObject({ events_count: 1 });
    const refused = await ask(address, '/db/absent/1', only);
    expect([refused.status, refused.headers['content-encoding']]).toEqual([404, 'gzip']);
    expect(gunzipSync(refused.bytes).toString()).toContain('NOT_FOUND');
  });
});

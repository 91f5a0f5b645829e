// Streaming reads deliver while they read; readers take one message of megabytes and then wait.
import type { ClientReadableStream } from '@grpc/grpc-js';
import { beforeAll, describe, expect, it } from 'vitest';
import { QueryEventsRequest, ScanDatabaseLogRequest } from '../../proto/gen/cairn/v1/database.ts';
import { Direction } from '../../proto/gen/cairn/v1/event.ts';
import { eventually } from '../support/eventually.ts';
import { iterate, type StreamName } from '../support/grpc-client.ts';
import { event, transaction, uniqueName } from '../support/grpc-requests.ts';
import { seriesAt, untilRendered } from '../support/metrics-page.ts';
import { sharedServer } from '../support/shared-servers.ts';

const databaseName = uniqueName();
const TRANSACTIONS = 30;
/** All of them are several times what sockets and windows on the way hold. */
const DATA = Buffer.alloc(500_000);

const server = await sharedServer();

beforeAll(async () => {
  await server.client.send('createDatabase', { databaseName });
  for (let n = 0; n < TRANSACTIONS; n++) {
    await server.client.send('transact', transaction(databaseName, [event({ id: `e-${n}`, data: DATA })]));
  }
});

const query = QueryEventsRequest.fromPartial({ databaseName });
const log = ScanDatabaseLogRequest.fromPartial({ databaseName, direction: Direction.DIRECTION_FORWARD });

describe.concurrent('SPEC-GRPC-STREAMING', () => {
  it.each([
    { method: 'queryEvents', op: 'query', request: query },
    { method: 'scanDatabaseLog', op: 'scan', request: log },
    { method: 'scanLogBatches', op: 'scan_batches', request: log },
  ] as const)('$method delivers what it has read while it reads', async ({ method, op, request }) => {
    const open = `cairn_streams_open{op="${op}"}`;
    const stream = server.client.open<StreamName>(method, request) as ClientReadableStream<unknown>;
    const messages = iterate(stream);
    const { value: first } = await messages.next();
    expect(first).toBeDefined();
    // A read that had gone to its end before it said anything would be over.
    for (let look = 0; look < 2; look++) await untilRendered(server.metrics);
    expect(await seriesAt(server.metrics, open)).toBe(1);
    let count = 1;
    while ((await messages.next()).done !== true) count += 1;
    expect(count).toBeGreaterThan(1);
    await eventually(async () => expect(await seriesAt(server.metrics, open)).toBe(0));
  });
});

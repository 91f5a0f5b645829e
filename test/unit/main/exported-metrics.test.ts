// Goal: what the catalogue promises is what a running node exports: databases that come and go, sizes, refusals, and
// every value of a closed label (O1). Method: a real node, asked over HTTP and scraped.
import { once } from 'node:events';
import { type Client, credentials } from '@grpc/grpc-js';
import { expect, test, vi } from 'vitest';
import { COUNTERS, GAUGES, HISTOGRAMS, type LabelBound, MCP_METHODS } from '#observability';
import {
  QueryEventsRequest,
  ScanDatabaseLogRequest,
  SubscribeEventsRequest,
} from '../../../src/transport/grpc/gen/cairn/v1/database.ts';
import { ServerReflectionClient } from '../../../src/transport/grpc/gen/grpc/reflection/v1/reflection.ts';
import { ROUTES } from '../../../src/transport/http/routes.ts';
import { failureOf } from '../../support/grpc-client.ts';
import { event, maxRevision, minRevision, revisionRange, transaction } from '../../support/grpc-requests.ts';
import { cloudEvent, q } from '../../support/http-client.ts';
import { startHttpNode } from '../../support/http-node.ts';
import { RawGrpc } from '../../support/raw-grpc.ts';

vi.setConfig({ testTimeout: 30_000 });

/** A scrape takes some three microseconds a line of the thread that serves clients: bench/scrape.ts. */
const LINES_AT_FIRST_MAX = 3_050;

const { api, server } = await startHttpNode();

const CATALOGUE: Readonly<Record<string, { readonly labels: object }>> = { ...COUNTERS, ...GAUGES, ...HISTOGRAMS };

async function scrape(): Promise<string> {
  return (await fetch(server.metrics)).text();
}

/** Until the check passes: a rendering is kept for a second, and may be of before what is asked for. */
function soon(check: () => Promise<void>): Promise<void> {
  return vi.waitFor(check, { timeout: 10_000, interval: 100 });
}

async function valueOf(series: string): Promise<number> {
  const line = (await scrape()).split('\n').find((text) => text.startsWith(`${series} `));
  return Number(line?.slice(series.length));
}

async function shownDatabases(): Promise<readonly (string | undefined)[]> {
  return [...(await scrape()).matchAll(/^cairn_database_revision\{database="([^"]+)"\}/gm)].map(([, name]) => name);
}

test('a node that was asked nothing shows 0 for what may be asked, and for what may go wrong', async () => {
  const body = await scrape();
  for (const { method, path, status = method === 'DELETE' ? 204 : 200, needsAuthentication } of ROUTES) {
    const labels = `method="${method}",route="${path}",code="${status}"`;
    const isShown = body.includes(`http_server_request_duration_seconds_count{${labels}} 0\n`);
    expect([labels, isShown]).toEqual([labels, needsAuthentication !== true]);
  }
  for (const op of ['query', 'scan', 'scan_batches', 'subscribe']) {
    expect(body).toContain(`cairn_query_duration_seconds_count{op="${op}"} 0\n`);
    expect(body).toContain(`cairn_streams_open{op="${op}"} 0\n`);
  }
  expect(body).toContain('grpc_method="SubscribeEvents",grpc_code="UNAVAILABLE"} 0\n');
  expect(body.split('\n').length).toBeLessThan(LINES_AT_FIRST_MAX);
});

test('a node shows every metric of the catalogue at its first scrape, but what it has none of', async () => {
  const absent = namesWithout(await scrape());
  expect(absent).toEqual(Object.keys(CATALOGUE).filter((name) => isOf(name, 'peer') || isOf(name, 'database')));
});

/** Those of which the body has no series. */
function namesWithout(body: string): readonly string[] {
  return Object.keys(CATALOGUE).filter((name) => !new RegExp(`^${name}(?:_count)?[{ ]`, 'm').test(body));
}

function isOf(name: string, label: string): boolean {
  return label in { ...CATALOGUE[name]?.labels };
}

/** Asks for the services, once. */
async function reflect(): Promise<void> {
  const client = new ServerReflectionClient(server.grpc, credentials.createInsecure());
  const stream = client.serverReflectionInfo();
  stream.end({ host: '', messageRequest: { $case: 'listServices', value: '' } });
  await Promise.all([once(stream, 'data'), once(stream, 'status')]);
  (client as Client).close();
}

test('a deleted database is shown no more, and its place is free for another', async () => {
  const names = Array.from({ length: 105 }, (_, n) => `db-${String(n).padStart(3, '0')}`);
  for (const name of names) await api.create(name);
  await api.commit('db-000', cloudEvent('a'));
  await soon(async () => expect(await shownDatabases()).toEqual(names.slice(0, 100)));
  await soon(async () => expect(await valueOf('cairn_database_revision{database="db-000"}')).toBe(1));

  await api.delete('/databases/db-000');
  await soon(async () => expect(await shownDatabases()).toEqual(names.slice(1, 101)));

  for (const name of names.slice(1)) await api.delete(`/databases/${name}`);
  await api.create('aa-new');
  await soon(async () => expect(await shownDatabases()).toEqual(['aa-new']));
});

/** The status of a call of gRPC whose request is these bytes. */
async function sendFrame(bytes: Uint8Array): Promise<number | undefined> {
  const raw = new RawGrpc(server.port);
  const { status } = await raw.call({ path: '/cairn.v1.EventStore/FetchCatalog', pieces: [bytes] });
  await raw.close();
  return status;
}

function guestCounters(): readonly { readonly series: string; readonly values: readonly string[] }[] {
  const counters = Object.entries(COUNTERS).filter(([name]) => /^cairn_(?:guest|stateview)_/.test(name));
  return counters.flatMap(([name, { labels }]) =>
    Object.entries<LabelBound>({ ...labels }).map(([label, bound]) => ({
      series: `${name} ${label}`,
      values: typeof bound === 'number' ? [] : bound,
    })),
  );
}

/** Each waits for something that a test of its own brings about, not for a lone node that has room. */
const RARE = new Map<string, readonly string[]>([
  // Nothing is published; see guest-gauges.test.ts.
  ...guestCounters().map(({ series, values }) => [series, values] as const),
  ['cairn_rejected_total reason', ['overload', 'draining', 'disk_full']],
  ['cairn_grpc_connections_ended_total reason', ['flood', 'headers', 'pieces']],
  ['cairn_transactions_total result', ['failed']],
  // See peer-mail.test.ts and secured-peers.test.ts.
  [
    'cairn_peer_dropped_frames_total reason',
    ['closing', 'cluster', 'crowded', 'handshake', 'lane', 'malformed', 'receiver', 'removed', 'sender', 'stranger'],
  ],
  ['cairn_relayed_requests_total protocol', ['grpc', 'http', 'mcp']],
  // No port is full; see slow-clients.test.ts and http/server.test.ts.
  ['cairn_connections_displaced_total protocol', ['grpc', 'http', 'mcp']],
  ['cairn_connections_displaced_total waiting', ['idle', 'head', 'body']],
  // See spec/mcp-metrics.test.ts.
  ['cairn_mcp_sessions_ended_total reason', ['deleted', 'idle', 'displaced', 'closing']],
  ['cairn_mcp_requests_total method', [...MCP_METHODS]],
  // Nothing is limited; see rate-limits.test.ts.
  ['cairn_rate_limited_total protocol', ['grpc', 'http', 'mcp']],
  ['cairn_rate_limited_total by', ['principal', 'address', 'shared']],
  ['cairn_relayed_requests_total result', ['answered', 'broken', 'unreached', 'lost', 'abandoned']],
  // Nodes of this file have no certificate; see tls.test.ts.
  ['cairn_tls_reloads_total result', ['loaded', 'failed']],
  // Nor one for other nodes; see peer-tls.test.ts.
  ['cairn_peer_tls_reloads_total result', ['loaded', 'failed']],
  // No provider is asked; see bearer-tokens.test.ts.
  ['cairn_identity_keys_reads_total result', ['read', 'failed']],
  ['cairn_raft_election_total result', ['lost', 'timed_out', 'not_held']],
  // Compactions come with tens of MiB; see store-levels.test.ts.
  ['cairn_store_compaction_seconds_total level', ['0', '1', '2', '3', '4', '5', '6']],
  ['cairn_store_compaction_read_bytes_total level', ['0', '1', '2', '3', '4', '5', '6']],
  ['cairn_store_compaction_written_bytes_total level', ['0', '1', '2', '3', '4', '5', '6']],
  ['cairn_raft_snapshot_bytes_total way', ['sent', 'received']],
  ['cairn_raft_snapshot_failures_total way', ['sent', 'received']],
  ['cairn_raft_snapshot_duration_seconds way', ['sent', 'received']],
  // Nothing is traced here: test/unit/observability/tracing.test.ts.
  ['cairn_trace_spans_dropped_total reason', ['queue_full', 'export_failed']],
]);

test('every value of a closed label is exported once it has happened (O1)', async () => {
  await doEverything();
  await soon(async () => {
    const body = await scrape();
    for (const [name, { labels }] of Object.entries(CATALOGUE)) {
      for (const [label, bound] of Object.entries<LabelBound>({ ...labels })) {
        if (typeof bound === 'number') continue;
        const known = new Set([...valuesIn(body, name, label), ...(RARE.get(`${name} ${label}`) ?? [])]);
        expect([...known].toSorted(), `${name} ${label}`).toEqual(bound.toSorted());
      }
    }
  });
});

/** Of a gauge the values that are shown; of the others those that are not 0, as all of them are at first. */
function valuesIn(body: string, name: string, label: string): readonly string[] {
  const series = new RegExp(`^${name}(?:_count)?\\{(?:[^}]*,)?${label}="([^"]*)"[^}]*\\} (.*)$`, 'gm');
  const shown = [...body.matchAll(series)].filter(([, , count]) => name in GAUGES || count !== '0');
  return [...new Set(shown.map(([, value = '']) => value))];
}

/** Reads and writes in every way that is metered, over both interfaces. */
async function doEverything(): Promise<void> {
  const databaseName = 'everything';
  await reflect();
  // No frame: its first byte is none.
  expect(await sendFrame(Uint8Array.of(7))).toBe(3);
  await api.create(databaseName);
  const { client } = server;
  const constraints = [minRevision(0), maxRevision(9), revisionRange(0, 0)];
  const transactionId = '00000000-0000-4000-8000-000000000001';
  for (const _ of ['committed', 'replayed']) {
    await client.send('transact', transaction(databaseName, [event()], { constraints, transactionId }));
  }
  await failureOf(client.call('transact', transaction(databaseName, [event()], { constraints: [minRevision(9)] })));
  await failureOf(client.call('transact', transaction(databaseName, [])));
  const tooMany = Array.from({ length: 1001 }, (_, n) => event({ id: `e-${n}` }));
  await failureOf(client.call('transact', transaction(databaseName, tooMany)));
  const query = QueryEventsRequest.fromPartial({ databaseName, query: {} });
  await client.collect('queryEvents', query);
  await client.collect('queryEventBatches', query);
  const scan = ScanDatabaseLogRequest.fromPartial({ databaseName });
  await client.collect('scanDatabaseLog', scan);
  await client.collect('scanLogBatches', scan);
  const subscription = client.open('subscribeEvents', SubscribeEventsRequest.fromPartial({ databaseName }));
  await once(subscription, 'data');
  subscription.on('error', () => undefined).cancel();
  await api.get(`/db/${databaseName}/latest`);
  await api.get(`/db/${databaseName}/cached`);
  await api.get(`/db/${databaseName}/1/events?q=${q({ range: { effectiveTime: { endAtNow: true } } })}`);
}

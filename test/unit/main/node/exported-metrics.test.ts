// Goal: what the catalogue promises is what a running node exports: databases that come and go, sizes, refusals, and
// every value of a closed label (O1). Method: a real node, asked over HTTP and scraped.
import { expect, test, vi } from 'vitest';
import { COUNTERS, describeMetric, GAUGES, HISTOGRAMS, type MetricDefinition, PROBE_PATHS } from '#observability';
import { ROUTES } from '../../../../src/transport/http/routes.ts';
import { eventually } from '../../../support/eventually.ts';
import { cloudEvent } from '../../../support/http-client.ts';
import { startHttpNode } from '../../../support/http-node.ts';

vi.setConfig({ testTimeout: 30_000 });

/** A scrape takes some three microseconds a line of the thread that serves clients: bench/scrape.ts. */
const LINES_AT_FIRST_MAX = 3_250;

const { api, server } = await startHttpNode();

const CATALOGUE: Readonly<Record<string, MetricDefinition>> = { ...COUNTERS, ...GAUGES, ...HISTOGRAMS };

async function scrape(): Promise<string> {
  return (await fetch(server.metrics)).text();
}

/** Until the check passes: a rendering is kept for a second, and may be of before what is asked for. */
function soon(check: () => Promise<void>): Promise<void> {
  return eventually(check, { interval: 100 });
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
    const isCounted = needsAuthentication !== true && PROBE_PATHS.every((probe) => probe !== path);
    expect([labels, isShown]).toEqual([labels, isCounted]);
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
  const labels = ['peer', 'database', 'digest'];
  expect(absent).toEqual(Object.keys(CATALOGUE).filter((name) => labels.some((label) => isOf(name, label))));
});

/** Names of metrics without a series in the body. */
function namesWithout(body: string): readonly string[] {
  return Object.keys(CATALOGUE).filter((name) => !new RegExp(`^${name}(?:_count)?[{ ]`, 'm').test(body));
}

function isOf(name: string, label: string): boolean {
  return label in describeMetric(CATALOGUE[name] ?? '').labels;
}

test('a deleted database is shown no more, and its place is free for another', async () => {
  const names = Array.from({ length: 105 }, (_, n) => `db-${String(n).padStart(3, '0')}`);
  for (const name of names) await api.create(name);
  await api.commit('db-000', cloudEvent('a'));
  await soon(async () => expect(await shownDatabases()).toEqual(names.slice(0, 100)));
  await soon(async () => expect(await valueOf('cairn_database_revision{database="db-000"}')).toBe(1));
  // The catalog and the database that was used.
  for (const groups of ['groups', 'has_leader', 'is_leader']) {
    await soon(async () => expect(await valueOf(`cairn_raft_${groups}`)).toBe(2));
  }

  await api.delete('/databases/db-000');
  await soon(async () => expect(await shownDatabases()).toEqual(names.slice(1, 101)));

  for (const name of names.slice(1)) await api.delete(`/databases/${name}`);
  await api.create('aa-new');
  await soon(async () => expect(await shownDatabases()).toEqual(['aa-new']));
});

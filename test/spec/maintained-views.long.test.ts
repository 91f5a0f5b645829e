// Goal: an eager State View follows its log on every node that holds a copy, and on no other, whoever leads and
// whatever has ended meanwhile, so that the next read folds next to nothing; seen by what a node says that it has
// folded (ADR 0113). Method: four real nodes in this process, three copies, over
// gRPC and HTTP; the one that leads hands over and ends while somebody writes.

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  ActivateStateViewRequest,
  MaintenanceMode,
  PublishStateViewRequest,
} from '../../src/transport/grpc/gen/cairn/v1/component.ts';
import { hashingView } from '../support/components/views.ts';
import { event, transaction } from '../support/grpc-requests.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { untilAllAreVoters } from '../support/server-cluster.ts';

const SLOW_MS = 360_000;
const DEADLINE = { deadlineMs: 60_000 };
const databaseName = 'bank';
const version = { databaseName, stateViewName: 'counted', version: 1 };
let nodes: TestServer[] = [];
/** Those of the nodes that have a copy. */
let holders: readonly TestServer[] = [];
const RENDERED = /^http_server_request_duration_seconds_count\{.*state-views.*code="200"\} (\d+)$/gm;

beforeAll(async () => {
  for (const name of ['one', 'two', 'three', 'four']) {
    const join = nodes[0] === undefined ? [] : [`--join=${nodes[0].peer}`];
    nodes.push(await startTestServer('--peer-port=0', '--guest-executors=1', `--node-name=${name}`, ...join));
  }
  // A database that is there before moves to those that join, and may change its leader meanwhile.
  await untilAllAreVoters(nodeAt(0), 3);
  await nodeAt(0).client.send('createDatabase', { databaseName });
  const wasmBytes = Buffer.from(await (await hashingView({ hasBatch: true, hasQuery: false })).bytes());
  const published = { databaseName, stateViewName: version.stateViewName, contentType: 'text/x', wasmBytes };
  const request = PublishStateViewRequest.fromPartial({ ...published, eventSelection: { selectors: [] } });
  await nodeAt(0).client.send('publishStateView', request, DEADLINE);
  const eager = { ...version, maintenanceMode: MaintenanceMode.MAINTENANCE_MODE_EAGER };
  await nodeAt(1).client.send('activateStateView', ActivateStateViewRequest.fromPartial(eager), DEADLINE);
}, SLOW_MS);

afterAll(async () => {
  for (const node of nodes.toReversed()) await node[Symbol.asyncDispose]();
}, SLOW_MS);

function nodeAt(place: number): TestServer {
  const node = nodes[place];
  if (node === undefined) throw new Error(`there is no node ${place}`);
  return node;
}

async function transact(node: TestServer, count: number): Promise<void> {
  for (let left = count; left > 0; left -= 1000) await write(node, Math.min(left, 1000));
}

/** A transaction; sent again, under its id, until it is known to be recorded. */
async function write({ http }: TestServer, count: number): Promise<void> {
  const events = Array.from({ length: count }, () => ({
    id: crypto.randomUUID(),
    specversion: '1.0',
    type: 't',
    source: 'accounts',
  }));
  const headers = { 'content-type': 'application/json', 'x-batch-id': crypto.randomUUID() };
  const sent = { method: 'POST', headers, body: JSON.stringify({ events }) };
  const attempt = async (): Promise<void> => {
    const { status } = await fetch(`${http}/api/v1/db/${databaseName}`, sent);
    if (status >= 300) throw new Error(`the events are answered with ${status}`);
  };
  await vi.waitFor(attempt, { timeout: SLOW_MS / 6, interval: 50 });
}

/** Who leads the database, by an event of its own. */
async function leader({ client }: TestServer): Promise<unknown> {
  const request = transaction(databaseName, [event({ id: crypto.randomUUID() })]);
  return (await client.call('transact', request)).trailers['x-leader-address'];
}

interface Shown {
  readonly lag: number;
  readonly reads: number;
  readonly maintenance: number;
  readonly eager: number;
  /** Reads of State Views that were answered. */
  readonly rendered: number;
}

/** What a node says of itself; a scrape may be a second old. */
async function shownBy({ metrics }: TestServer): Promise<Shown> {
  const body = await (await fetch(metrics)).text();
  const valueOf = (series: string): number => {
    const line = body.split('\n').find((text) => text.startsWith(`${series} `));
    return Number(line?.slice(series.length));
  };
  return {
    lag: valueOf(`cairn_stateview_lag_revisions{database="${databaseName}"}`),
    reads: valueOf('cairn_stateview_events_folded_total{by="reads"}'),
    maintenance: valueOf('cairn_stateview_events_folded_total{by="maintenance"}'),
    eager: valueOf('cairn_stateview_maintained{mode="eager"}'),
    rendered: [...body.matchAll(RENDERED)].reduce((sum, [, count]) => sum + Number(count), 0),
  };
}

/** What a node says as soon as it says this; a scrape may be of a second ago. */
function shown(node: TestServer, wanted: Partial<Shown>): Promise<Shown> {
  const options = { timeout: SLOW_MS / 6, interval: 200 };
  return vi.waitFor(async () => {
    const found = await shownBy(node);
    if (isMatch(found, wanted)) return found;
    throw new Error(`${JSON.stringify(found)} is shown, and not ${JSON.stringify(wanted)}`);
  }, options);
}

function isMatch(found: Shown, wanted: Partial<Shown>): boolean {
  return Object.entries(wanted).every(([name, value]) =>
    Object.entries(found).some(([n, v]) => n === name && v === value),
  );
}

/** Until three of the nodes keep the view up. */
function holding(): Promise<readonly TestServer[]> {
  return vi.waitFor(
    async () => {
      const all = await Promise.all(nodes.map(shownBy));
      const found = nodes.filter((_, place) => all[place]?.eager === 1);
      if (found.length === 3) return found;
      throw new Error(`${found.length} nodes keep it up`);
    },
    { timeout: SLOW_MS / 6, interval: 200 },
  );
}

/** Until each has folded so many by itself, and has nothing left. */
async function followed(maintenance: number): Promise<readonly number[]> {
  const all = await Promise.all(holders.map((node) => shown(node, { lag: 0, eager: 1, maintenance })));
  return all.map(({ lag }) => lag);
}

/** The count that the state has. */
async function read({ http }: TestServer): Promise<number> {
  const response = await fetch(`${http}/api/v1/db/${databaseName}/latest/state-views/counted/v1`);
  const bytes = await response.arrayBuffer();
  return new DataView(bytes).getUint32(0, true);
}

describe('an eager State View', { timeout: SLOW_MS }, () => {
  it('has folded 10,000 new events on every node with a copy before it is read, and none on the other', async () => {
    await transact(nodeAt(0), 10_000);
    holders = await holding();
    expect(await followed(10_000)).toEqual([0, 0, 0]);
    expect(await Promise.all(holders.map(read))).toEqual([10_000, 10_000, 10_000]);
    const wanted = { rendered: 1, reads: 0, maintenance: 10_000 };
    expect(await Promise.all(holders.map((node) => shown(node, { rendered: 1 })))).toMatchObject([
      wanted,
      wanted,
      wanted,
    ]);
  });

  it('is followed on those that are left, while the one that leads hands over and ends', async () => {
    const led = await leader(nodeAt(0));
    const ended = holders.find(({ grpc }) => grpc === led);
    holders = holders.filter((node) => node !== ended);
    nodes = nodes.filter((node) => node !== ended);
    const writer = holders[0] ?? nodeAt(0);
    let written = 1;
    const ending = new AbortController();
    const writing = (async (): Promise<void> => {
      for (; !ending.signal.aborted; written += 20) await write(writer, 20);
    })();
    // One write after the other is under way from here on, also while it ends.
    const writtenMore = (from: number): Promise<void> =>
      vi.waitFor(() => expect(written).toBeGreaterThan(from), { timeout: SLOW_MS / 6 });
    await writtenMore(1);
    await ended?.[Symbol.asyncDispose]();
    await writtenMore(written);
    await transact(nodeAt(0), 500);
    ending.abort();
    await writing;
    const leads = await leader(nodeAt(0));
    expect(holders.map(({ grpc }) => grpc)).toContain(leads);
    expect([holders.length, leads !== led]).toEqual([2, true]);
    const total = 10_000 + written + 501;
    expect(await followed(total)).toEqual([0, 0]);
    expect(await Promise.all(holders.map(read))).toEqual([total, total]);
  });
});

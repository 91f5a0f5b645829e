// Each node with a replica keeps an eager State View up to date while the leader changes (ADR 0097).
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  ActivateStateViewRequest,
  MaintenanceMode,
  PublishStateViewRequest,
} from '../../proto/gen/cairn/v1/component.ts';
import { hashingView } from '../support/components/views.ts';
import { event, transaction } from '../support/grpc-requests.ts';
import { cloudEvent, HttpClient } from '../support/http-client.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { untilAllAreVoters } from '../support/server-cluster.ts';

const SLOW_MS = 360_000;
const PATIENCE = { timeout: SLOW_MS / 6, interval: 100 };
const DEADLINE = { deadlineMs: 60_000 };
const databaseName = 'bank';
const version = { databaseName, stateViewName: 'counted', version: 1 };
let nodes: TestServer[] = [];
let holders: readonly TestServer[] = [];

beforeAll(async () => {
  for (const name of ['one', 'two', 'three', 'four']) {
    const join = nodes[0] === undefined ? [] : [`--join=${nodes[0].peer}`];
    nodes.push(await startTestServer('--peer-port=0', '--guest-executors=1', `--node-name=${name}`, ...join));
  }
  // A database that existed before would move to the new nodes, and its leader could change meanwhile.
  await untilAllAreVoters(nodeAt(0), 3);
  const { client } = nodeAt(0);
  await client.send('createDatabase', { databaseName });
  const wasmBytes = Buffer.from(await (await hashingView({ hasBatch: true, hasQuery: false })).bytes());
  const published = { databaseName, stateViewName: version.stateViewName, contentType: 'text/x', wasmBytes };
  const request = PublishStateViewRequest.fromPartial({ ...published, eventSelection: { selectors: [] } });
  await client.send('publishStateView', request, DEADLINE);
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

/** Commits a transaction with this many events, and repeats it under the same id until a reply confirms it. */
async function write({ http }: TestServer, count: number): Promise<void> {
  const events = Array.from({ length: count }, () => cloudEvent(crypto.randomUUID()));
  const batch = { 'x-batch-id': crypto.randomUUID() };
  await vi.waitFor(async () => {
    const { status } = await new HttpClient(http).post(`/api/v1/db/${databaseName}`, { events }, batch);
    expect(status).toBeLessThan(300);
  }, PATIENCE);
}

async function leader({ client }: TestServer): Promise<unknown> {
  const request = transaction(databaseName, [event({ id: crypto.randomUUID() })]);
  return (await client.call('transact', request)).trailers['x-leader-address'];
}

/** Metrics of a node; they may be a second old. */
async function shownBy({ metrics }: TestServer): Promise<Readonly<Record<'lag' | 'reads' | 'kept' | 'eager', number>>> {
  const body = await (await fetch(metrics)).text();
  const valueOf = (series: string): number => {
    const line = body.split('\n').find((text) => text.startsWith(`${series} `));
    return Number(line?.slice(series.length));
  };
  return {
    lag: valueOf(`cairn_stateview_lag_revisions{database="${databaseName}"}`),
    reads: valueOf('cairn_stateview_events_folded_total{by="reads"}'),
    kept: valueOf('cairn_stateview_events_folded_total{by="maintenance"}'),
    eager: valueOf('cairn_stateview_maintained{mode="eager"}'),
  };
}

/**
 * Waits until each holder has folded this many events in the background and lags by none. Returns the counts that reads
 * then show.
 */
async function countsAfter(total: number): Promise<readonly number[]> {
  const followed = { lag: 0, eager: 1, kept: total, reads: 0 };
  await Promise.all(
    holders.map((node) => vi.waitFor(async () => expect(await shownBy(node)).toEqual(followed), PATIENCE)),
  );
  const states = holders.map(async ({ http }) => {
    const response = await fetch(`${http}/api/v1/db/${databaseName}/latest/state-views/counted/v1`);
    return new DataView(await response.arrayBuffer()).getUint32(0, true);
  });
  return Promise.all(states);
}

describe('an eager State View', { timeout: SLOW_MS }, () => {
  it('has folded 10,000 new events on every node with a copy before it is read, and none on the other', async () => {
    for (let count = 0; count < 10; count++) await write(nodeAt(0), 1000);
    holders = await vi.waitFor(async () => {
      const all = await Promise.all(nodes.map(shownBy));
      const found = nodes.filter((_, place) => all[place]?.eager === 1);
      if (found.length !== 3) throw new Error(`${found.length} nodes keep it up`);
      return found;
    }, PATIENCE);
    expect(await countsAfter(10_000)).toEqual([10_000, 10_000, 10_000]);
  });

  it('is kept up to date on the remaining nodes, while the leader transfers leadership and ends', async () => {
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
    // From here on one write follows the other, also while the leader ends.
    const writtenMore = (from: number): Promise<void> =>
      vi.waitFor(() => expect(written).toBeGreaterThan(from), PATIENCE);
    await writtenMore(1);
    await ended?.[Symbol.asyncDispose]();
    await writtenMore(written);
    ending.abort();
    await writing;
    const leads = await leader(nodeAt(0));
    expect(holders.map(({ grpc }) => grpc)).toContain(leads);
    expect([holders.length, leads !== led]).toEqual([2, true]);
    // The total includes an event of each look for the leader. Reads have folded none.
    const total = 10_000 + written + 1;
    expect(await countsAfter(total)).toEqual([total, total]);
  });
});

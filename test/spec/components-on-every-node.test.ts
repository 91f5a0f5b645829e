// Four nodes, one of them without a replica, render a State View to the same bytes, and decide concurrent commands one
// after the other.
import { beforeAll, describe, expect, it } from 'vitest';
import { parseAddress } from '#base';
import { askAdmin } from '#transport/peer';
import { PublishStateChangeRequest, PublishStateViewRequest } from '../../proto/gen/cairn/v1/component.ts';
import { hashingView } from '../support/components/views.ts';
import { eventually } from '../support/eventually.ts';
import { cloudEvent, errorOf, HttpClient, jsonOf } from '../support/http-client.ts';
import { type TestServer } from '../support/server.ts';
import { startNodes } from '../support/server-cluster.ts';
import { BUILD_MS, builtComponent } from '../support/wasm/built.ts';

const DEADLINE = { deadlineMs: 60_000 };
const databaseName = 'bank';
const nodes = await startNodes(['--guest-executors=1'], ['four']);

beforeAll(async () => {
  await nodeAt(0).client.send('createDatabase', { databaseName });
  const view = Buffer.from(await (await hashingView({ hasBatch: true, hasQuery: false })).bytes());
  const published = PublishStateViewRequest.fromPartial({
    databaseName,
    stateViewName: 'counted',
    contentType: 'application/octet-stream',
    eventSelection: { selectors: [] },
    wasmBytes: view,
  });
  await nodeAt(1).client.send('publishStateView', published, DEADLINE);
}, BUILD_MS);

function nodeAt(place: number): TestServer {
  const node = nodes[place];
  if (node === undefined) throw new Error(`there is no node ${place}`);
  return node;
}

const apiAt = (place: number): HttpClient => new HttpClient(nodeAt(place).http);

function transact(place: number, count: number): Promise<number> {
  const events = Array.from({ length: count }, (_, n) =>
    cloudEvent(`${place}-${n}-${crypto.randomUUID()}`, { source: 'accounts', subject: `s-${n}`, data: { n } }),
  );
  return apiAt(place).commit(databaseName, ...events);
}

/** The state of the component, a count and a hash, computed here over the text of each event. */
async function foldedAgain(revision: number): Promise<string> {
  const page = await apiAt(0).get(`/db/${databaseName}/${revision}/events?limit=1000`);
  const { events } = jsonOf(page) as { readonly events: readonly object[] };
  const state = new DataView(new ArrayBuffer(8));
  let hash = 0;
  for (const event of events) {
    for (const byte of Buffer.from(JSON.stringify(event))) hash = Math.imul(hash ^ byte, 16_777_619);
    hash = (hash + 1) | 0;
  }
  state.setUint32(0, events.length, true);
  state.setInt32(4, hash, true);
  return Buffer.from(state.buffer).toString('hex');
}

async function renderedBy({ http }: TestServer, revision: number): Promise<string> {
  const path = `/api/v1/db/${databaseName}/${revision}/state-views/counted/v1`;
  return Buffer.from(await (await fetch(`${http}${path}`)).arrayBuffer()).toString('hex');
}

it('every node that holds the database compiles a component before its first use, and operators see which nodes have', {
  timeout: BUILD_MS,
}, async () => {
  const { digest } = await hashingView({ hasBatch: true, hasQuery: false });
  const at = parseAddress(nodeAt(0).peer);
  await eventually(async () => {
    const reply = at && (await askAdmin(at, { order: { kind: 'describe' }, isPassedOn: false }, DEADLINE.deadlineMs));
    if (reply?.kind !== 'described') throw new Error('the cluster is described');
    const { nodes: described, databases } = reply.cluster;
    const compiled = described.filter(({ own }) => own?.components.includes(digest)).map(({ node }) => node);
    expect(new Set(compiled)).toEqual(new Set(databases[0]?.nodes));
  });
});

describe('a State View', { timeout: BUILD_MS }, () => {
  it('is rendered by every node at every revision to the bytes that the test computes itself', async () => {
    const revisions: number[] = [];
    for (const [at, count] of [3, 120, 1, 40].entries()) revisions.push(await transact(at % nodes.length, count));
    for (const revision of revisions.toReversed()) {
      const expected = await foldedAgain(revision);
      const found = await Promise.all(nodes.map((node) => renderedBy(node, revision)));
      expect([revision, found]).toEqual([revision, nodes.map(() => expected)]);
    }
  });
});

describe('a State Change', { timeout: BUILD_MS }, () => {
  it('decides on every node, and of two concurrent commands for the last item only one succeeds', async () => {
    const change = { databaseName, stateChangeName: 'accounts' };
    const wasmBytes = Buffer.from(await builtComponent('examples/bank/accounts.ts'));
    await nodeAt(3).client.send('publishStateChange', PublishStateChangeRequest.fromPartial({ ...change, wasmBytes }), {
      deadlineMs: BUILD_MS,
    });
    await execute(2, '/accounts/a', { owner: 'ann' });
    await execute(3, '/accounts/a/deposits', { cents: 5 });
    const asked = Array.from({ length: 12 }, (_, n) =>
      execute(n % nodes.length, '/accounts/a/withdrawals', { cents: 1 }),
    );
    const outcomes = await Promise.all(asked);
    expect(outcomes.filter((outcome) => outcome === 'committed')).toHaveLength(5);
    expect(outcomes.filter((outcome) => outcome === 'overdrawn')).toHaveLength(7);
  });

  /** Resolves to `committed`, or to the reason of a refusal. A conflict is repeated, as a client does. */
  function execute(place: number, path: string, body: object): Promise<string> {
    return eventually(async () => {
      const url = `/api/v1/db/${databaseName}/state-changes/accounts/v1/execute`;
      const answer = await apiAt(place).post(url, { method: 'POST', path, body });
      if (answer.status === 200) return 'committed';
      const { message, details } = errorOf(answer);
      if (details?.reason === 'overdrawn') return details.reason;
      throw new Error(message);
    });
  }
});

// Goal: the controllers of databases, access and components have the same effects on a real node as on the naive model
// of the simulations. Method: an API server in memory, and a node in this process that authenticates its clients.
import { afterAll, expect, it } from 'vitest';
import { EVENT_ACCESS, EVENT_DATABASE, type EventDatabase, STATE_VIEW } from '../../../operator/src/api/index.ts';
import { Channel, GrpcComponents, GrpcDatabases, GrpcKeys } from '../../../operator/src/client/index.ts';
import { CONFIG_MAP, pathOf } from '../../../operator/src/kube/index.ts';
import { hashingView } from '../../support/components/views.ts';
import { eventually } from '../../support/eventually.ts';
import { FIRST_KEY, startGuardedNode } from '../../support/guarded-node.ts';
import { AccessWorld } from '../../support/operator/access-world.ts';
import { clientsOf, startControllers } from '../../support/operator/controllers.ts';
import { OperatorProcess } from '../../support/operator/process.ts';

const { server: node } = await startGuardedNode('--peer-port=0');
const channel = new Channel(node.grpc, { key: FIRST_KEY });
const world = new AccessWorld(1);
const { runtime, server } = world;
const operator = new OperatorProcess(runtime, server);

afterAll(() => {
  operator.killAfter(0);
  channel[Symbol.dispose]();
});

/** Status of the condition Ready of each object, by its kind. */
function ready(): readonly unknown[] {
  return [EVENT_DATABASE, EVENT_ACCESS, STATE_VIEW].map((kind) => {
    const [object] = server.store.list(pathOf(kind)) as unknown as readonly EventDatabase[];
    return object && object.status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  });
}

/** The clock of the operator advances while the node works. */
function becomes(check: () => void | Promise<void>): Promise<void> {
  return eventually(async () => {
    await runtime.advance(1_000);
    await check();
  });
}

it('a database, a key and a State View are created on a node, and deleted with their objects (KD1, KD2, KE1, KE4, KP1)', async () => {
  const wasm = Buffer.from(await (await hashingView({ hasBatch: true, hasQuery: true })).bytes());
  const { store } = server;
  world.setCluster('True');
  store.create(world.target(CONFIG_MAP, 'view'), { binaryData: { 'component.wasm': wasm.toString('base64') } }, 'user');
  world.create('shop', { reclaimPolicy: 'Delete' });
  world.grant('orders', { grants: [{ role: 'deployer', databases: { names: ['shop'] } }] });
  const spec = {
    databases: { names: ['shop'] },
    source: { configMap: { name: 'view', key: 'component.wasm' } },
    contentType: 'application/json',
    events: [{ stream: 'accounts' }],
    temporality: 'Revision',
    keyType: 'None',
    priority: 'Normal',
    maintenance: 'Eager',
    active: true,
    rollout: { strategy: 'All', timeoutSeconds: 600 },
    reclaimPolicy: 'Delete',
  };
  store.create(world.target(STATE_VIEW, 'view'), { metadata: {}, spec }, 'user');
  const { api, signal } = operator;
  startControllers(
    { api, signal, onError: () => undefined, control: (each) => operator.run(each) },
    clientsOf(channel),
  );
  await becomes(() => expect(ready()).toEqual(['True', 'True', 'True']));

  const { 'api-key': key = '' } = world.secret('orders') ?? {};
  using own = new Channel(node.grpc, { key });
  const id = { database: 'shop', kind: 'StateView', name: 'view' } as const;
  expect(await new GrpcComponents(own).list(id)).toMatchObject([{ version: 1, isActive: true, maintenance: 'Eager' }]);
  const { databaseID } = world.resource('shop')?.status ?? {};
  expect(await new GrpcDatabases(channel).find('shop')).toMatchObject({ id: databaseID });

  store.delete(world.target(STATE_VIEW, 'view'));
  await becomes(() => expect(store.list(pathOf(STATE_VIEW))).toEqual([]));
  expect(await new GrpcComponents(channel).list(id)).toEqual([]);
  store.delete(world.target(EVENT_DATABASE, 'shop'));
  store.delete(world.target(EVENT_ACCESS, 'orders'));
  await becomes(() => expect(ready()).toEqual([undefined, undefined, undefined]));
  expect(await new GrpcDatabases(channel).find('shop')).toBeUndefined();
  expect(await new GrpcKeys(channel).list()).toEqual([]);
});

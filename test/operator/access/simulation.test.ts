// Goal: an EventAccess has one valid key in its Secret, under faults of both APIs and kills of the operator, and no key
// is left without an owner. Method: random edits of objects, Secrets and keys by a seed, an API server in memory, a
// naive Cairn, and a check of every write of a Secret and every issued key.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { idPrefixOf, parseKeyText } from '../../../operator/src/access/index.ts';
import { CAIRN_CLUSTER, EVENT_DATABASE, type EventAccess } from '../../../operator/src/api/index.ts';
import { pathOf, SECRET } from '../../../operator/src/kube/index.ts';
import { EVERY_FAULT } from '../../support/kube-api/faults.ts';
import { AccessWorld } from '../../support/operator/access-world.ts';
import { reasonsOf } from '../../support/operator/database-world.ts';
import { runs } from '../../support/runs.ts';

const NAMES = ['orders', 'reports'];
const GRANTS = [
  [{ role: 'writer', databases: { pattern: 'eu-*' } }],
  [{ role: 'reader', databases: { names: ['shop'] } }],
  [{ role: 'reader', databases: { selector: { matchLabels: { stage: 'live' } } } }],
];

/** Collects keys that are issued before their text is in a Secret (KE1), and writes that break KE2 or KE3. */
function watch(world: AccessWorld): readonly string[] {
  const { server, cairn } = world;
  const faults: string[] = [];
  const issued = new Set<string>();
  const { onChange } = server.store;
  server.store.onChange = (change) => {
    onChange(change);
    if (change.collection !== pathOf(SECRET) || change.type === 'DELETED') return;
    const { name, ownerReferences } = change.object.metadata;
    const texts = world.secret(name) ?? {};
    if (ownerReferences === undefined && Object.keys(texts).some((key) => key !== 'user')) faults.push('overwritten');
    const id = parseKeyText(texts['api-key'])?.id;
    if (id !== undefined && !issued.has(id)) faults.push(`${id} was shown before it was issued`);
  };
  cairn.onIssue = (id) => {
    const secrets = server.store.list(pathOf(SECRET)).map(({ metadata }) => world.secret(metadata.name) ?? {});
    const isKept = secrets.some((texts) => Object.values(texts).some((text) => parseKeyText(text)?.id === id));
    // A Secret may be deleted between its observation and the issue; the key is found by its id then.
    if (!isKept && !world.hasDeletedSecret) faults.push(`${id} is in no Secret`);
    issued.add(id);
  };
  return faults;
}

function disturb(world: AccessWorld): void {
  const { runtime, cairn, server } = world;
  const { chance } = runtime;
  const name = chance.pick(NAMES);
  const exists = world.granted(name) !== undefined;
  const secret = world.secret(name);
  const shop = world.target(EVENT_DATABASE, 'shop');
  const rotation = { rotateKey: chance.pick(['a', 'b', null]), everyDays: chance.pick([1, 30, null]) };
  const roll = chance.below(12);
  if (roll < 4) {
    if (exists) world.change(name, { grants: chance.pick(GRANTS), rotation });
    else world.grant(name, { grants: chance.pick(GRANTS) });
  } else if (roll === 4 && exists) world.withdraw(name);
  else if (roll === 5 && secret !== undefined) world.deleteSecret(name);
  else if (roll === 6 && secret === undefined)
    server.store.create(world.secretTarget(name), { metadata: {}, data: { user: 'eA==' } }, 'user');
  else if (roll === 7) cairn.isDown = !cairn.isDown;
  else if (roll === 8) world.setCluster(chance.pick(['True', 'True', 'False', 'gone']));
  else if (roll === 9 && cairn.keys.size > 0) cairn.keys.delete(chance.pick([...cairn.keys.keys()]));
  else if (roll === 10 && world.resource('shop') !== undefined) server.store.delete(shop);
  else if (roll === 11 && world.resource('shop') === undefined) world.create('shop');
}

/** The Secret has the key that the spec asks for, unless it belongs to a user. */
function judge(world: AccessWorld, access: EventAccess): void {
  const { metadata, spec, status } = access;
  const ready = reasonsOf(access)['Ready'];
  const secret = world.secret(metadata.name) ?? {};
  const parsed = parseKeyText(secret['api-key']);
  const key = world.cairn.keys.get(parsed?.id ?? '');
  const roles = spec.grants[0]?.databases.pattern === undefined ? ['reader:shop'] : ['writer:eu-*'];
  const { everyDays = 3650, rotateKey } = spec.rotation;
  const isYoung = world.runtime.wallMs() - (key?.createdMs ?? 0) < everyDays * 86_400_000 + 600_000;
  const own = {
    ready: 'Issued',
    texts: ['api-key'],
    id: parsed?.id,
    rotateKey,
    isYoung: true,
    key: { name: metadata.name, roles, sha256: parsed?.sha256, expiresMs: undefined },
  };
  const found = {
    ready,
    texts: Object.keys(secret),
    id: status?.keyID,
    rotateKey: status?.rotateKey,
    isYoung,
    key: key && { name: key.name, roles: key.roles, sha256: key.sha256, expiresMs: key.expiresMs },
  };
  const isForeign = 'user' in secret;
  expect(metadata.deletionTimestamp).toBeUndefined();
  expect(isForeign ? [ready, secret] : found).toEqual(isForeign ? ['SecretNotOwned', { user: 'x' }] : own);
}

it('keys converge under faults and kills, and none is left without an owner (KE1, KE2, KE3, KE4)', async () => {
  const property = fc.asyncProperty(fc.nat(), async (seed) => {
    const world = new AccessWorld(seed, EVERY_FAULT);
    const { runtime, server, cairn } = world;
    const faults = watch(world);
    await world.trouble({ steps: 40, faultPercent: 15, writesMax: 6 }, () => disturb(world));
    if (world.resource('shop') === undefined) world.create('shop');
    server.store.merge(world.target(EVENT_DATABASE, 'shop'), { metadata: { labels: { stage: 'live' } } }, 'user');
    const operator = world.start();
    // Longer than the backoff of keys that have failed, and than the overlap.
    await runtime.advance(7_200_000);
    expect(faults).toEqual([]);
    for (const access of world.grants) judge(world, access);
    const owners = world.grants.map(({ metadata: { uid } }) => idPrefixOf(uid));
    const left = [...cairn.keys.keys()].map((id) => owners.filter((prefix) => id.startsWith(prefix)).length);
    expect(left.every((count) => count === 1) || world.hasLeftCluster).toBe(true);
    expect(await world.writesWithin(3_600_000)).toEqual([]);
    operator.killAfter(0);
  });
  await fc.assert(property, { numRuns: runs(60), endOnFailure: true });
});

it('a Secret that another owner takes between the observation and the write is not written (KE2)', async () => {
  const world = new AccessWorld(1);
  const { runtime, server, cairn } = world;
  const { store } = server;
  const apply = store.apply.bind(store);
  let isFirst = true;
  store.apply = (target, ...rest) => {
    if (isFirst && target.collection === pathOf(SECRET)) {
      isFirst = false;
      world.deleteSecret('orders');
      store.create(world.secretTarget('orders'), { metadata: {}, data: { user: 'eA==' } }, 'user');
    }
    return apply(target, ...rest);
  };
  world.setCluster('True');
  world.grant('orders');
  world.start();
  await runtime.advance(60_000);
  expect([isFirst, world.secret('orders'), cairn.keys.size]).toEqual([false, { user: 'x' }, 0]);
});

it('a key is replaced on demand and after days, and all keys are revoked with the object (KE3, KE4)', async () => {
  const world = new AccessWorld(1);
  const { runtime, cairn } = world;
  world.setCluster('True');
  world.grant('orders', { rotation: { overlapSeconds: 3600, rotateKey: 'a', everyDays: 1 } });
  world.start();
  const current = async (ms: number): Promise<string> => {
    await runtime.advance(ms);
    return parseKeyText(world.secret('orders')?.['api-key'])?.id ?? '';
  };
  const first = await current(60_000);
  const rotatedMs = runtime.wallMs();
  world.change('orders', { rotation: { rotateKey: 'b' } });
  const second = await current(60_000);
  expect([first === second, [...cairn.keys.keys()]]).toEqual([false, [first, second]]);
  const { expiresMs = 0 } = cairn.keys.get(first) ?? {};
  expect(expiresMs - rotatedMs).toBeGreaterThanOrEqual(3_600_000);
  expect(expiresMs - rotatedMs).toBeLessThan(3_660_000);
  expect(await current(3_600_000 + 300_000)).toBe(second);
  expect([...cairn.keys.keys()]).toEqual([second]);
  const third = await current(86_400_000 - 3_600_000);
  expect([second === third, [...cairn.keys.keys()]]).toEqual([false, [second, third]]);
  world.withdraw('orders');
  await runtime.advance(60_000);
  expect([world.granted('orders'), [...cairn.keys.keys()], world.secret('orders')]).toEqual([undefined, [], undefined]);
});

it('a cluster without authentication needs no key, and delays no deletion (KE4)', async () => {
  const world = new AccessWorld(1);
  const { runtime, server, cairn } = world;
  world.setCluster('True');
  server.store.merge(world.target(CAIRN_CLUSTER, 'events'), { spec: { auth: { enabled: false } } }, 'user');
  world.grant('orders');
  world.start();
  await runtime.advance(60_000);
  expect(reasonsOf(world.granted('orders'))['Ready']).toBe('AuthenticationOff');
  world.withdraw('orders');
  await runtime.advance(10_000);
  expect([world.granted('orders'), cairn.keys.size]).toEqual([undefined, 0]);
});

it('an expired key is not replaced, and an earlier expiry revokes the key (KE4)', async () => {
  const world = new AccessWorld(1);
  const { runtime, cairn } = world;
  world.setCluster('True');
  world.grant('orders');
  world.start();
  await runtime.advance(60_000);
  expect(cairn.keys.size).toBe(1);
  world.change('orders', { expiresAt: new Date(runtime.wallMs()).toISOString() });
  await runtime.advance(60_000);
  expect(cairn.keys.size).toBe(0);
  expect(reasonsOf(world.granted('orders'))['Ready']).toBe('Expired');
});

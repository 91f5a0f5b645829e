// Goal: databases converge to their EventDatabases, under faults of both APIs and kills of the operator, and no
// database of another party is deleted. Method: random edits of objects, clusters and databases by a seed, an API
// server in memory, a naive model of Cairn, and checks of each write of an id and of each deletion.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { EVENT_DATABASE, type EventDatabase } from '../../../operator/src/api/index.ts';
import { pathOf } from '../../../operator/src/kube/index.ts';
import { EVERY_FAULT } from '../../support/kube-api/faults.ts';
import { DatabaseWorld, reasonsOf } from '../../support/operator/database-world.ts';
import { runs } from '../../support/runs.ts';

const NAMES = ['shop', 'ledger', 'audit'];
const ADOPTION = ['Create', 'Adopt', 'Either'];
const RECLAIM = ['Retain', 'Delete'];
/** null: the field is removed. */
const COPIES = [null, 1, 3, 5];

/** Collects objects that adopt a database against their policy (KD1), wrong deletions (KD2) and wrong copies (KD6). */
function watch(world: DatabaseWorld): readonly string[] {
  const { server, cairn } = world;
  const faults: string[] = [];
  const known = new Map<string, EventDatabase>();
  const { onChange } = server.store;
  server.store.onChange = (change) => {
    onChange(change);
    if (change.collection !== pathOf(EVENT_DATABASE)) return;
    const now = change.object as unknown as EventDatabase;
    const before = known.get(now.metadata.uid);
    known.set(now.metadata.uid, now);
    const [id, last] = [now.status?.databaseID, before?.status?.databaseID];
    if (id === undefined || id === last) return;
    const wasBegun = before?.status?.conditions?.some(({ reason }) => reason === 'Creating') ?? false;
    const isRecovered = cairn.predecessors.get(now.metadata.name) === last;
    if (last !== undefined && !isRecovered) faults.push(`${id} replaces ${last}`);
    if (!wasBegun && last === undefined && now.spec.adoptionPolicy === 'Create') faults.push(`${id} was taken`);
  };
  cairn.onDelete = ({ id, name }) => {
    const { metadata, spec, status } = world.resource(name) ?? {};
    const isMeant = metadata?.deletionTimestamp !== undefined && spec?.reclaimPolicy === 'Delete';
    if (!isMeant || status?.databaseID !== id) faults.push(`${id} was deleted`);
  };
  cairn.onCopies = (name) => {
    const { status } = world.resource(name) ?? {};
    if (status?.databaseID !== cairn.databases.get(name)?.id) faults.push(`the copies of ${name} were changed`);
  };
  return faults;
}

function disturb(world: DatabaseWorld): void {
  const { runtime, cairn } = world;
  const { chance } = runtime;
  const name = chance.pick(NAMES);
  const policies = { adoptionPolicy: chance.pick(ADOPTION), reclaimPolicy: chance.pick(RECLAIM) };
  const copies = chance.pick(COPIES);
  const exists = world.resource(name) !== undefined;
  const roll = chance.below(11);
  if (roll < 4) {
    if (exists) world.edit(name, { ...policies, copies });
    else world.create(name, copies === null ? policies : { ...policies, copies });
  } else if (roll < 6 && exists) world.delete(name);
  else if (roll === 6 && chance.chance(50) && cairn.databases.has(name)) cairn.recover(name);
  else if (roll === 6) cairn.databases.delete(name);
  else if (roll === 7 && !cairn.databases.has(name)) cairn.create(name, 'other');
  else if (roll === 8) cairn.isDown = !cairn.isDown;
  else if (roll === 9) world.setCluster(chance.pick(['True', 'True', 'False', 'gone']));
  else if (roll === 10) cairn.setCopies(name, chance.below(8));
}

/** Reason of the condition Ready that follows from the policies and the database. */
function reasonFor({ cairn }: DatabaseWorld, { metadata, spec, status }: EventDatabase): string {
  const { name } = metadata;
  const database = cairn.databases.get(name);
  const id = status?.databaseID;
  if (database === undefined && spec.adoptionPolicy === 'Either') return 'a database is missing';
  if (database === undefined) return id === undefined ? 'DatabaseNotFound' : 'DatabaseGone';
  if (id === undefined) return spec.adoptionPolicy === 'Create' ? 'DatabaseExists' : 'a database is not adopted';
  if (id === cairn.predecessors.get(name) && id !== database.id) return 'a recovery is not followed';
  return id === database.id ? 'Available' : 'DatabaseReplaced';
}

function judge(world: DatabaseWorld, resource: EventDatabase): void {
  const { metadata, spec, status } = resource;
  const { deletionTimestamp, finalizers = [], generation } = metadata;
  expect([deletionTimestamp, finalizers.length, status?.observedGeneration, reasonsOf(resource)['Ready']]).toEqual([
    undefined,
    spec.reclaimPolicy === 'Delete' ? 1 : 0,
    generation,
    reasonFor(world, resource),
  ]);
  const { id, copies } = world.cairn.databases.get(metadata.name) ?? {};
  const isOwn = id !== undefined && id === status?.databaseID;
  expect(copies).toBe(isOwn ? (spec.copies ?? 0) : copies);
}

it('databases converge under faults and kills, and those of another party stay (KD1, KD2, KD3, KD4, KD6)', async () => {
  const property = fc.asyncProperty(fc.nat(), async (seed) => {
    const world = new DatabaseWorld(seed, EVERY_FAULT);
    const faults = watch(world);
    await world.trouble({ steps: 40, faultPercent: 15, writesMax: 6 }, () => disturb(world));
    const operator = world.start();
    await world.runtime.advance(1_200_000);
    expect(faults).toEqual([]);
    for (const resource of world.resources()) judge(world, resource);
    expect(await world.writesWithin(3_600_000)).toEqual([]);
    operator.killAfter(0);
  });
  await fc.assert(property, { numRuns: runs(60), endOnFailure: true });
});

it('a first creation that finds the name in use does not adopt the database (KD1)', async () => {
  const world = new DatabaseWorld(1);
  const { runtime, cairn } = world;
  world.setCluster('True');
  const find = cairn.databases.get.bind(cairn.databases);
  let isFirst = true;
  cairn.databases.get = (name) => {
    const found = find(name);
    if (isFirst) cairn.create(name, 'other');
    isFirst = false;
    return found;
  };
  world.create('shop', { reclaimPolicy: 'Retain' });
  world.start();
  await runtime.advance(60_000);
  const shop = world.resource('shop');
  const exists = 'DatabaseExists';
  expect([shop?.status?.databaseID, reasonsOf(shop)]).toEqual([undefined, { Created: exists, Ready: exists }]);
});

it('a database is created with its number of copies, and needs no later change (KD6)', async () => {
  const world = new DatabaseWorld(1);
  const { runtime, cairn } = world;
  let changes = 0;
  cairn.onCopies = () => void (changes += 1);
  world.setCluster('True');
  world.create('shop', { copies: 5 });
  world.start();
  await runtime.advance(60_000);
  expect([cairn.databases.get('shop')?.copies, changes]).toEqual([5, 0]);
  world.edit('shop', { copies: null });
  await runtime.advance(60_000);
  expect([cairn.databases.get('shop')?.copies, changes]).toEqual([0, 1]);
});

it('a deletion is abandoned when the cluster is deleted, or unreachable for an hour (KD4)', async () => {
  for (const [isGone, ms] of [
    [true, 30_000],
    [false, 3_600_000 + 600_000],
  ] as const) {
    const world = new DatabaseWorld(1);
    const { runtime, cairn } = world;
    world.setCluster('True');
    world.create('shop', { reclaimPolicy: 'Delete' });
    world.start();
    await runtime.advance(60_000);
    cairn.isDown = true;
    world.delete('shop');
    await runtime.advance(300_000);
    expect(reasonsOf(world.resource('shop'))).toEqual({ Created: 'Created', Ready: 'Deleting' });
    if (isGone) world.setCluster('gone');
    await runtime.advance(ms);
    expect(world.resource('shop')).toBeUndefined();
    expect(cairn.databases.has('shop')).toBe(true);
    const notes = world.server.store
      .list('/apis/events.k8s.io/v1/events')
      .flatMap(({ reason, note }) => (reason === 'DatabaseLeft' ? [note] : []));
    const why = isGone ? 'its cluster is gone' : 'it is another one, or the deletion was given up';
    expect(notes).toEqual([`database shop (id-1) was not deleted: ${why}`]);
  }
});

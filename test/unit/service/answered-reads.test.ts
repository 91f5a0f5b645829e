// Every read shows what was answered before, also before its rows are in the store (C6).
import { beforeEach, describe, expect, it } from 'vitest';
import { type GroupId, type Revision, toRevision } from '#base';
import { ALL } from '#model';
import type { DatabaseDescription, ReadAt } from '#service';
import { NEVER, ServiceWorld, settle } from '../../support/service-world.ts';

const SHOP = { databaseName: 'shop', signal: NEVER } as const;

let world: ServiceWorld;

beforeEach(async () => {
  world = await new ServiceWorld().start();
  await world.database('shop', 2);
});

function databaseAt(at: ReadAt, rest: { readonly minRevision?: Revision } = {}): Promise<DatabaseDescription> {
  return world.service.databaseAt({ ...SHOP, at, ...rest });
}

async function isPending(promise: Promise<unknown>): Promise<boolean> {
  await settle();
  return Promise.race([promise.then(() => false), Promise.resolve(true)]);
}

describe('after an answer whose rows are not in the store yet', () => {
  const reads = [
    ['at the number', () => databaseAt(toRevision(3)), { revision: 3 }],
    ['at latest', () => databaseAt('latest'), { revision: 3 }],
    ['at cached', () => databaseAt('cached'), { revision: 3 }],
    ['above a floor', () => databaseAt('cached', { minRevision: toRevision(3) }), { revision: 3 }],
    ['of the list of databases', () => world.service.listDatabases({ signal: NEVER }), [{ revision: 3 }]],
    ['of AwaitDatabase', () => world.service.awaitDatabase({ ...SHOP, revision: toRevision(3) }), { revision: 3 }],
  ] as const;

  async function answeredEarly(): Promise<() => void> {
    await world.core.readable(group());
    const { promise, resolve } = Promise.withResolvers<void>();
    world.core.kv.gate = promise;
    expect(await world.transact('shop', { events: [{ id: 'early' }] })).toMatchObject({ revision: 3 });
    return resolve;
  }

  function group(): GroupId {
    const binding = world.core.node.catalog.lookup('shop');
    if (binding === undefined) throw new Error('The database is there');
    return binding.group;
  }

  it.each(reads)('a read %s waits for them, and shows it (C6)', async (_name, run, expected) => {
    const openStore = await answeredEarly();
    const read = run();
    expect(await isPending(read)).toBe(true);
    openStore();
    expect(await read).toMatchObject(expected);
  });

  it('a subscription begins with it', async () => {
    const openStore = await answeredEarly();
    const opened = world.service.subscribe({ ...SHOP, selector: ALL, heartbeatMs: 1000 });
    expect(await isPending(opened)).toBe(true);
    openStore();
    expect(await opened).toMatchObject({ revision: 3 });
  });

  it('an earlier revision is read at once, and says what the latest is', async () => {
    const openStore = await answeredEarly();
    expect(await databaseAt(toRevision(2))).toMatchObject({ revision: 2, latestRevision: 3 });
    openStore();
  });
});

// Goal: what is published was looked at first, and its bytes are brought whole and once, whoever began to bring them
// (V15). Method: the service over a node in one thread; components of three parts, of which some are there already.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DatabaseError, GroupId } from '#base';
import { DatabaseReader } from '#database';
import { type Definition, definitionFromJson, Faults } from '#model';
import { componentBytes } from '#query';
import type { PublishComponentReply } from '#service';
import { SHOWING } from '../../support/components/presenters.ts';
import { hashingView } from '../../support/components/views.ts';
import { sourceOf } from '../../support/database-host.ts';
import { definingPayloads, padded, viewOf } from '../../support/published.ts';
import { NEVER, ServiceWorld } from '../../support/service-world.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { testGuests } from '../../support/test-guests.ts';
import { wat } from '../../support/wasm/wat.ts';

const MIB = 2 ** 20;
const dir = tempDir();
const guests = testGuests(dir.path);
const world = new ServiceWorld({}, () => guests.open());
let component: Uint8Array;
let databases = 0;

beforeAll(async () => {
  component = await (await hashingView({ hasBatch: true, hasQuery: false })).bytes();
  await world.start();
});
afterAll(async () => {
  await guests[Symbol.asyncDispose]();
  dir[Symbol.dispose]();
});

interface Database {
  readonly name: string;
  readonly group: GroupId;
}

async function database(): Promise<Database> {
  const name = `shop-${databases++}`;
  await world.database(name, 1);
  const binding = world.core.node.catalog.lookup(name);
  if (binding === undefined) throw new Error('the database is there');
  return { name, group: binding.group };
}

function view(name: string): Definition {
  return viewOf({ state_view_name: name, events: ['t'] });
}

function presenterOf(name: string): Definition {
  const faults = new Faults();
  const text = JSON.stringify({ presenter_name: name, content_types: ['text/plain'] });
  const definition = definitionFromJson('presenter', new TextEncoder().encode(text), faults);
  if (definition === undefined) throw faults.toError('The metadata of the test');
  return definition;
}

function publish(
  { name }: Database,
  definition: Definition,
  bytes: Uint8Array,
  version?: number,
): Promise<PublishComponentReply> {
  const faults = new Faults();
  return world.service.publishComponent({
    databaseName: name,
    definition,
    component: bytes,
    componentField: 'wasm',
    faults,
    version,
  });
}

async function listed({ name }: Database): Promise<readonly string[]> {
  const { versions } = await world.service.listVersions({ databaseName: name, at: 'latest', signal: NEVER });
  return versions.map(({ definition, version }) => `${definition.name} ${version}`);
}

describe('publishing (V15)', () => {
  it('brings the bytes that the digest names, and them alone once', async () => {
    const shop = await database();
    const bytes = padded(component, 2 * MIB);
    const { version, isNew } = await publish(shop, view('one'), bytes);
    expect([version.version, isNew, version.component.size]).toEqual([1, true, bytes.length]);
    const kept = await componentBytes(sourceOf(world.core.kv, shop.group), version.component);
    expect(kept && Buffer.compare(kept, bytes)).toBe(0);
    const again = await publish(shop, view('one'), bytes);
    expect([again.version.version, again.isNew]).toEqual([1, false]);
    const other = await publish(shop, view('other'), bytes);
    expect([other.version.component, other.isNew]).toEqual([version.component, true]);
    expect(await listed(shop)).toEqual(['one 1', 'other 1']);
  });

  it('is the version that was asked for, or none', async () => {
    const shop = await database();
    const [one, other] = [padded(component, MIB), padded(component, MIB + 1)];
    const refused = (next: number): object => {
      return { code: 'already_exists', message: expect.stringMatching(new RegExp(`the next version is ${next}$`)) };
    };
    await expect(publish(shop, view('a'), one, 2)).rejects.toMatchObject(refused(1));
    expect((await publish(shop, view('a'), one, 1)).isNew).toBe(true);
    expect((await publish(shop, view('a'), one, 1)).isNew).toBe(false);
    await expect(publish(shop, view('a'), other, 1)).rejects.toMatchObject(refused(2));
    await expect(publish(shop, viewOf({ state_view_name: 'a', events: ['u'] }), one, 1)).rejects.toMatchObject(
      refused(2),
    );
    expect((await publish(shop, view('a'), other, 2)).version.version).toBe(2);
    await expect(publish(shop, view('a'), other, 1)).rejects.toMatchObject(refused(3));
    expect(await listed(shop)).toEqual(['a 1', 'a 2']);
    // The number of a version that was deleted is not given again.
    await world.service.deleteVersions({ databaseName: shop.name, kind: 'state-view', name: 'a' });
    await expect(publish(shop, view('a'), one, 1)).rejects.toMatchObject(refused(3));
    expect((await publish(shop, view('a'), one, 3)).version.version).toBe(3);
  });

  it('refuses a State View whose presenter, or version of it, is not published', async () => {
    const shop = await database();
    const shown = (presenter: object): Promise<PublishComponentReply> =>
      publish(shop, viewOf({ state_view_name: 'shown', events: ['t'], presenter }), component);
    const refused = (description: string): object => {
      return {
        code: 'invalid_argument',
        details: { reason: 'PresenterNotFound', violations: [{ field: 'presenter', description }] },
      };
    };
    await expect(shown({ name: 'pages' })).rejects.toMatchObject(
      refused('names the presenter "pages", which is not published; publish it first'),
    );
    await publish(shop, presenterOf('pages'), await wat(SHOWING));
    await expect(shown({ name: 'pages', version: 2 })).rejects.toMatchObject(
      refused('names version 2 of the presenter "pages"; there are 1'),
    );
    expect((await shown({ name: 'pages', version: 1 })).isNew).toBe(true);
    expect((await shown({ name: 'pages' })).version.version).toBe(2);
    expect(await listed(shop)).toEqual(['shown 1', 'shown 2', 'pages 1']);
  });

  it('of two contents at once as one version is that version for one of them alone', async () => {
    const shop = await database();
    // Both are looked at first, which takes longer than to ask for versions.
    const contents = [padded(component, MIB + 8), padded(component, MIB + 9)];
    const ended = await Promise.allSettled(contents.map((bytes) => publish(shop, view('a'), bytes, 1)));
    expect(ended.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    const reason = { code: 'already_exists', message: expect.stringContaining('this one is version 2') };
    expect(ended.find(({ status }) => status === 'rejected')).toMatchObject({ reason });
  });

  it('goes on where another publisher of the same bytes has ended', async () => {
    const shop = await database();
    const bytes = padded(component, 2 * MIB);
    const [first, second] = definingPayloads(view('one'), bytes);
    if (first === undefined || second === undefined) throw new Error('there are three parts');
    await world.core.node.define(shop.group, first);
    await world.core.node.define(shop.group, second);
    const { version } = await publish(shop, view('one'), bytes);
    const kept = await componentBytes(sourceOf(world.core.kv, shop.group), version.component);
    expect(kept && Buffer.compare(kept, bytes)).toBe(0);
  });

  it('defines nothing, and brings nothing, of what was refused', async () => {
    const shop = await database();
    const noComponent = await publish(shop, view('one'), new Uint8Array(3 * MIB)).catch(
      (error: DatabaseError) => error,
    );
    expect(noComponent).toMatchObject({ code: 'invalid_argument', details: { reason: 'InvalidComponent' } });
    expect(await listed(shop)).toEqual([]);
    expect(new DatabaseReader(sourceOf(world.core.kv, shop.group)).applied()?.definitions.index).toBe(0);
  });
});

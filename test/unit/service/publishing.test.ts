// Goal: a component is checked before it is published, and its bytes are stored once (V15). Method: components are
// published to databases of one node.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { GroupId } from '#base';
import { type Definition, Faults } from '#model';
import { componentBytes } from '#query';
import type { PublishComponentReply } from '#service';
import { SHOWING } from '../../support/components/presenters.ts';
import { hashingView } from '../../support/components/views.ts';
import { sourceOf } from '../../support/database-host.ts';
import { definingPayloads, definitionOf, padded, viewOf } from '../../support/published.ts';
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

function publish(
  { name }: Database,
  definition: Definition,
  bytes: Uint8Array,
  version?: number,
): Promise<PublishComponentReply> {
  const sent = { definition, component: bytes, componentField: 'wasm', faults: new Faults(), version };
  return world.service.publishComponent({ databaseName: name, ...sent });
}

async function listed({ name }: Database): Promise<readonly string[]> {
  const { versions } = await world.service.listVersions({ databaseName: name, at: 'latest', signal: NEVER });
  return versions.map(({ definition, version }) => `${definition.name} ${version}`);
}

describe('publishing (V15)', () => {
  it('stores the bytes of the digest once', async () => {
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

  it('rejects a State Change that names unpublished State Views, and names all of them', async () => {
    const shop = await database();
    const named = { state_change_name: 'decides', state_view_names: ['orders', 'stock', 'totals'] };
    const decides = definitionOf('state-change', named);
    await publish(shop, viewOf({ state_view_name: 'stock', events: ['t'] }), component);
    const description = (name: string): string =>
      `names the State View "${name}", which is not published; publish it first`;
    await expect(publish(shop, decides, component)).rejects.toMatchObject({
      code: 'invalid_argument',
      details: {
        reason: 'StateViewNotFound',
        violations: ['orders', 'totals'].map((name) => ({ field: 'state_view_names', description: description(name) })),
      },
    });
  });

  it('rejects a State View whose presenter, or its version, is not published', async () => {
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
    const pages = definitionOf('presenter', { presenter_name: 'pages', content_types: ['text/plain'] });
    await publish(shop, pages, await wat(SHOWING));
    await expect(shown({ name: 'pages', version: 2 })).rejects.toMatchObject(
      refused('names version 2 of the presenter "pages"; there are 1'),
    );
    expect((await shown({ name: 'pages', version: 1 })).isNew).toBe(true);
    expect((await shown({ name: 'pages' })).version.version).toBe(2);
    expect(await listed(shop)).toEqual(['shown 1', 'shown 2', 'pages 1']);
  });

  it('continues the upload of another publisher of the same bytes', async () => {
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
});

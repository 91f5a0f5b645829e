// Goal: a caller hears of databases by their names, whatever the node below calls them (V6). Method: examples.
import { describe, expect, it } from 'vitest';
import { CATALOG_GROUP, DatabaseError, type GroupId, type Revision, toDatabaseId, toGroupId, toRevision } from '#base';
import type { Binding } from '#cluster';
import { type Finder, find, findAnywhere, goneFrom, refusalBy } from '../../../src/service/instance.ts';

const DATABASE_ID = toDatabaseId('0193a1b2-c3d4-7e5f-8a9b-100000000000');
const held = { replicas: [], leaving: [], founders: [], placement: 0, isSettled: true };
const BINDING = { name: 'shop', databaseId: DATABASE_ID, group: toGroupId(7), createdAtMs: 0, ...held };

it('refusalBy (V6) says that the database was deleted when its group is gone', () => {
  const refusal = refusalBy(BINDING, new DatabaseError('not_found', 'The database was deleted, or never created'));
  expect(refusal).toMatchObject({ code: 'not_found', message: 'The database "shop" was deleted' });
});

describe('a name that the catalog here does not know (V9)', () => {
  /** A node that learns of `learns` when it asks the catalog's leader. */
  const behind = (learns: Binding | undefined): { readonly node: Finder; readonly asked: GroupId[] } => {
    const asked: GroupId[] = [];
    const catalog = { lookup: (name: string) => (asked.length > 0 && learns?.name === name ? learns : undefined) };
    const latest = (group: GroupId): Promise<Revision> => {
      asked.push(group);
      return Promise.resolve(toRevision(0));
    };
    const currentCatalog = (): undefined => undefined;
    return { node: { catalog, latest, currentCatalog }, asked };
  };

  it('is found when it was created at another node', async () => {
    const { node, asked } = behind(BINDING);
    expect(await find(node, 'shop')).toBe(BINDING);
    expect(asked).toEqual([CATALOG_GROUP]);
  });

  it('is not waited for when the signal has fired, nor when it fires', async () => {
    const never: Finder = { ...behind(undefined).node, latest: () => new Promise(() => undefined) };
    const reason = new Error('the caller has gone');
    await expect(findAnywhere(never, 'shop', AbortSignal.abort(reason))).rejects.toBe(reason);
    const ending = new AbortController();
    const finding = find(never, 'shop', ending.signal);
    ending.abort(reason);
    await expect(finding).rejects.toBe(reason);
  });
});

describe('work on a copy that has ended (V6)', () => {
  const absence = new DatabaseError('not_leader', 'nodes 2, 3 do', { details: { reason: 'NotReplica' } });
  const node = (bound: Binding | undefined, why: DatabaseError | undefined): Parameters<typeof goneFrom>[0] => {
    return { catalog: { lookup: () => bound }, absence: () => why };
  };

  it.each([
    ['was deleted', node(undefined, undefined), 'DatabaseNotFound'],
    ['has moved away', node(BINDING, absence), 'NotReplica'],
    ['begins anew here', node(BINDING, undefined), 'CopyMoved'],
  ])('is told that the database %s', (_what, where, reason) => {
    expect(goneFrom(where, BINDING)).toMatchObject({ details: { reason } });
  });
});

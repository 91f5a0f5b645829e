// Goal: errors and look-ups of the service use the names of databases, not the groups of the node (V6). Method:
// examples.
import { describe, expect, it } from 'vitest';
import { CATALOG_GROUP, DatabaseError, type GroupId, type Revision, toDatabaseId, toGroupId, toRevision } from '#base';
import type { Binding } from '#cluster';
import { type Finder, find, findAnywhere, goneFrom, refusalBy } from '../../../src/service/instance.ts';

const DATABASE_ID = toDatabaseId('0193a1b2-c3d4-7e5f-8a9b-100000000000');
const held = { replicas: [], leaving: [], founders: [], placement: 0, isSettled: true, copies: 0 };
const BINDING = { name: 'shop', databaseId: DATABASE_ID, group: toGroupId(7), createdAtMs: 0, ...held };

it('refusalBy (V6) reports that the database was deleted when its group does not exist any more', () => {
  const refusal = refusalBy(BINDING, new DatabaseError('not_found', 'The database was deleted, or never created'));
  expect(refusal).toMatchObject({ code: 'not_found', message: 'The database "shop" was deleted' });
});

describe('a name that the local catalog does not have (V9)', () => {
  /** A node whose catalog has `learns` after it has asked the leader of the catalog. */
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

  it('is found when the database was created on another node', async () => {
    const { node, asked } = behind(BINDING);
    expect(await find(node, 'shop')).toBe(BINDING);
    expect(asked).toEqual([CATALOG_GROUP]);
  });

  it('ends the wait when the signal fires, or has fired before', async () => {
    const never: Finder = { ...behind(undefined).node, latest: () => new Promise(() => undefined) };
    const reason = new Error('the caller has gone');
    await expect(findAnywhere(never, 'shop', AbortSignal.abort(reason))).rejects.toBe(reason);
    const ending = new AbortController();
    const finding = find(never, 'shop', ending.signal);
    ending.abort(reason);
    await expect(finding).rejects.toBe(reason);
  });
});

describe('work on a replica that has ended (V6)', () => {
  const absence = new DatabaseError('not_leader', 'nodes 2, 3 do', { details: { reason: 'NotReplica' } });
  const node = (bound: Binding | undefined, why: DatabaseError | undefined): Parameters<typeof goneFrom>[0] => {
    return { catalog: { lookup: () => bound }, absence: () => why };
  };

  it.each([
    ['was deleted', node(undefined, undefined), 'DatabaseNotFound'],
    ['has moved away', node(BINDING, absence), 'NotReplica'],
    ['starts here with a new replica', node(BINDING, undefined), 'CopyMoved'],
  ])('fails because the database %s', (_what, where, reason) => {
    expect(goneFrom(where, BINDING)).toMatchObject({ details: { reason } });
  });
});

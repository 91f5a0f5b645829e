// Goal: a database has the number of copies that it was created with, or that was set since, through restarts, moves
// and snapshots. Method: entries, each followed by a restart.
import { expect, it } from 'vitest';
import { DatabaseError, toGroupId, toNodeId } from '#base';
import { type CatalogOutcome, encodeCatalogEntry } from '#database';
import { CatalogHost, idOf } from '../../support/catalog-host.ts';

class Host extends CatalogHost {
  async copies(): Promise<number | undefined> {
    await this.reopen();
    return this.machine.lookup('shop')?.copies;
  }

  set(copies: number, name = 'shop', databaseId = idOf(1)): CatalogOutcome['kind'] {
    return this.apply({ kind: 'set-copies', name, databaseId, copies }).kind;
  }
}

it('the copies of a database are those of its creation, and those that were set since', async () => {
  const host = new Host();
  host.create('shop', 1, [1, 2], 5);
  expect(await host.copies()).toBe(5);
  expect(host.set(3)).toBe('moved');
  expect(await host.copies()).toBe(3);
  const { revision } = host.machine.applied;
  expect([host.set(3), host.set(1, 'other'), host.set(1, 'shop', idOf(2))]).toEqual(['unmoved', 'unmoved', 'unmoved']);
  expect(host.machine.applied.revision).toBe(revision);
  expect(host.apply({ kind: 'place', group: toGroupId(1), placement: 0, nodes: [toNodeId(3)] }).kind).toBe('moved');
  expect(await host.copies()).toBe(3);
  expect(host.apply({ kind: 'set-copies', name: 'shop', copies: 0 }).kind).toBe('moved');
  expect(await host.copies()).toBe(0);
});

it('a snapshot of the catalog says that only the copies of a database have changed', async () => {
  const [host, behind] = [new Host(), new Host()];
  for (const each of [host, behind]) each.create('shop', 1, [1, 2], 5);
  host.set(7);
  await host.flush();
  const [change] = behind.machine.install(host.open());
  expect(change).toMatchObject({ kind: 'moved', binding: { name: 'shop', copies: 7, placement: 0 } });
  expect(await behind.copies()).toBe(7);
});

it('an entry with more than seven copies stops the node', () => {
  const bytes = encodeCatalogEntry({ kind: 'set-copies', name: 'shop', copies: 7 });
  const broken = bytes.with(2, 8);
  expect(() => new Host().applyPayload(broken)).toThrow(DatabaseError);
});

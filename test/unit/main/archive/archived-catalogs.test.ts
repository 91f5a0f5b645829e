// Goal: the catalog of a cluster is archived in one form, after each change and until that succeeds; other bytes are
// refused. Method: the example of docs/formats/archive.md and every bit of it; a store whose calls fail.
import { describe, expect, it } from 'vitest';
import { type ArchivePorts, CatalogArchiver } from '#archive';
import { toDatabaseId } from '#base';
import type { ApiKey } from '#model';
import { type ArchivedCatalog, catalogsIn, encodeCatalog } from '../../../../src/main/archive/archived-catalogs.ts';
import { DATABASE, newHash } from '../../../support/archive/archived-history.ts';
import { SimulatedStore, StoreFailure } from '../../../support/archive/simulated-store.ts';
import { examplesOf } from '../../../support/format-pages.ts';

const NAME = 'catalogs/one/2';
const CATALOG: ArchivedCatalog = {
  revision: 3,
  databases: [{ databaseId: toDatabaseId(DATABASE.id), name: 'shop' }],
  keys: [],
};

const KEY: ApiKey = {
  id: '0'.repeat(16),
  name: 'of the shop',
  createdBy: 'bootstrap',
  version: 1,
  grants: [{ role: 'admin', databases: 'shop-*', databasesMax: 3 }],
  createdAtMs: 1_700_000_000_000,
  expiresAtMs: undefined,
  secrets: [{ hash: new Uint8Array(32).fill(7), createdAtMs: 1_700_000_000_000, expiresAtMs: undefined }],
};

function archived(catalog: () => Uint8Array | undefined): {
  store: SimulatedStore;
  ports: ArchivePorts;
  archiver: CatalogArchiver;
} {
  const store = new SimulatedStore();
  const ports = { store, newHash };
  return { store, ports, archiver: new CatalogArchiver({ ...ports, cluster: 'one', node: 2, catalog }) };
}

describe('a catalog in an archive', () => {
  it('is encoded as in the example of its page', async () => {
    const catalog = encodeCatalog(CATALOG);
    const { store, ports, archiver } = archived(() => catalog);
    expect(await archiver.round()).toBe('archived');
    expect(Buffer.from(store.objects.get(NAME) ?? '').toString('hex')).toBe(examplesOf('archive.md')[1]);
    expect(await catalogsIn(ports)).toEqual(new Map([['one', CATALOG]]));
  });

  it('is refused when any bit of it is changed, or it is cut', async () => {
    const catalog = encodeCatalog({ ...CATALOG, keys: [KEY] });
    const { store, ports, archiver } = archived(() => catalog);
    await archiver.round();
    const whole = store.objects.get(NAME) ?? new Uint8Array(0);
    const refusal = `object ${NAME} of the archive cannot be used: it does not match its hash`;
    for (let bit = 0; bit < 8 * whole.length; bit++) {
      const changed = Uint8Array.from(whole);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      store.objects.set(NAME, changed);
      await expect(catalogsIn(ports)).rejects.toThrow(refusal);
    }
    for (let length = 0; length < whole.length; length++) {
      store.objects.set(NAME, whole.subarray(0, length));
      await expect(catalogsIn(ports)).rejects.toThrow(refusal);
    }
  });

  it('is refused in another format', async () => {
    const later = Uint8Array.from(encodeCatalog(CATALOG));
    later[0] = 2;
    const { ports, archiver } = archived(() => later);
    await archiver.round();
    await expect(catalogsIn(ports)).rejects.toThrow(
      'the catalog of cluster one in the archive cannot be used: it has format 2',
    );
  });

  it('is written after each change, and until that succeeds', async () => {
    let catalog: Uint8Array | undefined;
    const { store, ports, archiver } = archived(() => catalog);
    expect([await archiver.round(), store.objects.size]).toEqual(['waiting', 0]);
    catalog = encodeCatalog(CATALOG);
    store.disturbance = { fault: () => 'half', delay: () => Promise.resolve(), age: () => 0 };
    await expect(archiver.round()).rejects.toThrow(StoreFailure);
    store.disturbance = undefined;
    expect([await archiver.round(), await archiver.round()]).toEqual(['archived', 'current']);
    catalog = encodeCatalog({ ...CATALOG, revision: 4, databases: [] });
    expect([await archiver.round(), await archiver.round()]).toEqual(['archived', 'current']);
    expect((await catalogsIn(ports)).get('one')).toEqual({ revision: 4, databases: [], keys: [] });
  });
});

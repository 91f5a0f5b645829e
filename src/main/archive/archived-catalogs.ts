/**
 * The catalogs in an archive: which databases a cluster has, and its API keys (docs/formats/archive.md).
 *
 * ```
 * u8 format = 1 | varint revision | varint count, each 16 bytes database_id, name | varint count, each API key
 * ```
 */
import { type ArchivePorts, archivedCatalogs } from '#archive';
import { ByteReader, ByteWriter, DATABASE_ID, DatabaseError, fieldsOf, listOf, TEXT, VARINT } from '#base';
import type { Binding } from '#cluster';
import { API_KEY, type ApiKey } from '#model';

const FORMAT = 1;

export interface ArchivedCatalog {
  /** It has all changes up to this revision of the catalog, and maybe later ones. */
  readonly revision: number;
  readonly databases: readonly Pick<Binding, 'databaseId' | 'name'>[];
  readonly keys: readonly ApiKey[];
}

const CATALOG = fieldsOf<ArchivedCatalog>({
  revision: VARINT,
  databases: listOf(fieldsOf<ArchivedCatalog['databases'][number]>({ databaseId: DATABASE_ID, name: TEXT })),
  keys: listOf(API_KEY),
});

export function encodeCatalog(catalog: ArchivedCatalog): Uint8Array {
  const writer = new ByteWriter();
  writer.u8(FORMAT);
  CATALOG.write(writer, catalog);
  return writer.take();
}

/** The latest catalog of each cluster. @throws DatabaseError when one is damaged */
export async function catalogsIn(archive: ArchivePorts): Promise<ReadonlyMap<string, ArchivedCatalog>> {
  const latest = new Map<string, ArchivedCatalog>();
  for (const [cluster, bytes] of await archivedCatalogs(archive)) {
    const reader = new ByteReader(bytes);
    const format = reader.u8();
    const catalog = CATALOG.read(reader);
    if (format !== FORMAT || reader.failed || reader.left > 0) {
      const fault = format === FORMAT ? 'it is malformed' : `it has format ${format}, and this release reads ${FORMAT}`;
      throw new DatabaseError('internal', `the catalog of cluster ${cluster} in the archive cannot be used: ${fault}`);
    }
    if (catalog.revision >= (latest.get(cluster)?.revision ?? 0)) latest.set(cluster, catalog);
  }
  return latest;
}

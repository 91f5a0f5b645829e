/**
 * The catalog of a cluster in an archive.
 *
 * ```
 * object := catalog, which is bytes to this layer | its SHA-256 in 64 hexadecimal digits
 * ```
 * A node that leads the catalog replaces an object of its own. So no two nodes write the same one, and it does not
 * matter when the last write of a former leader arrives: readers use the catalog with the highest revision.
 */
import { concatBytes, decodeUtf8, encodeUtf8 } from '#base';
import { ArchiveFault, CATALOGS, catalogObject } from './archive-names.ts';
import type { Round } from './archiver.ts';
import { bytesOf, contentOf, hashOf } from './object-store.ts';
import type { ArchivePorts } from './open-archive.ts';

const HASH_DIGITS = 64;

export interface CatalogArchiverPorts extends ArchivePorts {
  readonly cluster: string;
  /** Number of the node. */
  readonly node: number;
  /** The catalog, another array after each change; undefined while it is not known. */
  readonly catalog: () => Uint8Array | undefined;
  readonly onStored?: (bytes: number) => void;
}

export class CatalogArchiver {
  readonly #ports: CatalogArchiverPorts;
  #archived: Uint8Array | undefined;

  constructor(ports: CatalogArchiverPorts) {
    this.#ports = ports;
  }

  /** One call at a time. @throws what the store throws */
  async round(): Promise<Round> {
    const { store, newHash, cluster, node, onStored, catalog: current } = this.#ports;
    const catalog = current();
    if (catalog === undefined) return 'waiting';
    if (catalog === this.#archived) return 'current';
    const object = concatBytes([catalog, encodeUtf8(await hashOf(newHash, contentOf(catalog)))]);
    await store.put(catalogObject(cluster, node), contentOf(object));
    onStored?.(object.length);
    this.#archived = catalog;
    return 'archived';
  }

  async lagBytes(): Promise<number> {
    return 0;
  }
}

/** All catalogs in the store, each with its cluster. @throws ArchiveFault when an object is damaged */
export async function archivedCatalogs({ store, newHash }: ArchivePorts): Promise<readonly [string, Uint8Array][]> {
  const catalogs: [string, Uint8Array][] = [];
  for (const name of await store.list(CATALOGS)) {
    const content = await store.get(name);
    const object = content === undefined ? new Uint8Array(0) : await bytesOf(content);
    const catalog = object.subarray(0, -HASH_DIGITS);
    const hash = decodeUtf8(object.subarray(-HASH_DIGITS));
    if (hash !== (await hashOf(newHash, contentOf(catalog))))
      throw new ArchiveFault(name, 'it does not match its hash');
    catalogs.push([name.split('/')[1] ?? '', catalog]);
  }
  return catalogs;
}

/** The history of a database in the store of a node, which runs or not, for its archive. */
import type { ArchivedDatabase, ArchiveSource, HistoryState, ObjectContent, SealedSegment } from '#archive';
import { CATALOG_GROUP, type GroupId, toHex } from '#base';
import { type Binding, nativeSha256, rootOf } from '#cluster';
import { DatabaseReader, genesisHash } from '#database';
import type { KvReader } from '#kv';
import { sealedSegment } from '#storage';

const CHUNK_BYTES = 256 * 1024;

/** A database, and the group that has its rows on this node. */
export interface HeldDatabase extends ArchivedDatabase {
  readonly group: GroupId;
}

export function heldDatabase(binding: Binding, group: GroupId = binding.group): HeldDatabase {
  const { databaseId: id, name, createdAtMs } = binding;
  return { id, root: rootOf(binding), name, createdAtMs, group };
}

/** The catalog among the databases that a node archives. No database can have its name. */
export function heldCatalog(cluster: string): HeldDatabase {
  return { id: cluster, root: cluster, name: '(catalog)', createdAtMs: 0, group: CATALOG_GROUP };
}

/**
 * The source of an archive. `histories` is the directory of segment files. Its end is the one of the applied row: what
 * is applied is committed (X3).
 */
export function historySource(kv: KvReader, histories: string, held: HeldDatabase): ArchiveSource {
  const { group, ...database } = held;
  const begin = { position: 0, revision: 0, recordedTimeMs: 0, segmentStart: 0 };
  const genesis = genesisHash(nativeSha256, database.root);
  const reader = (): DatabaseReader => new DatabaseReader({ kv, group, sha256: nativeSha256 });
  return {
    database,
    state: async () => {
      const applied = reader().applied();
      // The rows of a new database may not be there yet, and those of a deleted one may have gone.
      if (applied === undefined) return { ...begin, chainHash: toHex(genesis) };
      const { end: position, revision, segmentStart } = applied;
      const recordedTimeMs = revision === 0 ? 0 : applied.recordedTimeMs;
      return { position, revision, recordedTimeMs, chainHash: toHex(applied.chainHash), segmentStart };
    },
    sealed: (position) => sealedAt(histories, group, position),
    records: (from, to) => recordsBetween(kv, group, { from, to }),
    chainHashAt: async (revision) => {
      if (revision === 0) return toHex(genesis);
      if (revision > (reader().applied()?.revision ?? 0)) return undefined;
      return toHex((await reader().headLater(revision)).chainHash);
    },
  };
}

async function sealedAt(histories: string, group: GroupId, position: number): Promise<SealedSegment | undefined> {
  const file = await sealedSegment(histories, { group, position });
  if (file === undefined) return undefined;
  const { next, ...content } = file;
  const { revision, recordedTimeMs, chainHash } = next;
  const end: HistoryState = {
    position: next.position,
    revision: revision - 1,
    recordedTimeMs,
    chainHash: toHex(chainHash),
  };
  return { content, end };
}

function recordsBetween(
  { history }: KvReader,
  group: GroupId,
  { from, to }: { readonly from: number; readonly to: number },
): ObjectContent {
  return {
    byteLength: to - from,
    async *chunks() {
      for (let at = from; at < to; at += CHUNK_BYTES) {
        const range = { from: at, to: Math.min(at + CHUNK_BYTES, to) };
        const [bytes = new Uint8Array(0)] = await history.readAll(group, [range]);
        yield bytes.subarray(0, range.to - range.from);
      }
    },
  };
}

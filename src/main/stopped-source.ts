/** The history of a database of a stopped node, for its archive. */
import type { ArchiveSource, HistoryState, ObjectContent, SealedSegment } from '#archive';
import { type GroupId, toHex } from '#base';
import { nativeSha256, type StoppedCopy } from '#cluster';
import { DatabaseReader, genesisHash, rootOf } from '#database';
import type { KvReader } from '#kv';
import { sealedSegment } from '#storage';

const CHUNK_BYTES = 256 * 1024;

/** `histories` is the directory of segment files. Nothing is written to the store meanwhile. */
export function stoppedSource(kv: KvReader, histories: string, copy: StoppedCopy): ArchiveSource {
  const { binding, origin: group, applied } = copy;
  const { name, databaseId: id, createdAtMs } = binding;
  const root = rootOf(binding);
  return {
    database: { id, root, name, createdAtMs },
    state: async () => {
      const { end: position, revision, segmentStart } = applied;
      const recordedTimeMs = revision === 0 ? 0 : applied.recordedTimeMs;
      return { position, revision, recordedTimeMs, chainHash: toHex(applied.chainHash), segmentStart };
    },
    sealed: (position) => sealedAt(histories, group, position),
    records: (from, to) => recordsBetween(kv, group, { from, to }),
    chainHashAt: async (revision) => {
      if (revision > applied.revision) return undefined;
      if (revision === 0) return toHex(genesisHash(nativeSha256, root));
      const reader = new DatabaseReader({ kv, group, sha256: nativeSha256 });
      return toHex((await reader.headLater(revision)).chainHash);
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

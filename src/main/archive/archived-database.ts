/** A database in an archive, as the restore of a node takes it. */
import {
  type ArchivePorts,
  endOf,
  openArchive,
  planRestore,
  type RestorePlan,
  type RestorePoint,
  readObject,
} from '#archive';
import { parseHex, toDatabaseId } from '#base';
import type { DatabaseToRestore } from '#cluster';
import { recordsOfSegment } from '#storage';

export function archivedDatabase(
  archive: ArchivePorts,
  { manifest }: RestorePlan,
  point: RestorePoint = {},
): DatabaseToRestore {
  const { name, createdAtMs, id, root } = manifest.database;
  const isWhole = point.revision === undefined && point.timeMs === undefined;
  const end = isWhole ? { revision: endOf(manifest).revision } : point;
  return {
    name,
    createdAtMs,
    databaseId: toDatabaseId(id),
    rootId: toDatabaseId(root),
    history: historyOf(archive, id, end),
    point: end,
    chainHash: isWhole ? parseHex(manifest.chainHash) : undefined,
  };
}

/**
 * The records up to the point, at least. Segments stay, and may take hours. Retention may remove tails meanwhile, so
 * these are read first, by the manifest that is the newest now.
 */
async function* historyOf(archive: ArchivePorts, databaseId: string, point: RestorePoint): AsyncGenerator<Uint8Array> {
  const { objects } = planRestore(await openArchive(archive, databaseId), databaseId, point);
  const tails: Uint8Array[] = [];
  for (const object of objects) if (!object.isSegment) tails.push(...(await readObject(archive, object)));
  for (const object of objects) if (object.isSegment) yield* recordsOfSegment(await readObject(archive, object));
  yield* tails;
}

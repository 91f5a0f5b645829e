/**
 * Plans a restore: finds the objects of an archive that have the history up to a restore point, and verifies them.
 */
import { DatabaseError } from '#base';
import { ArchiveFault, manifestObject, segmentObject, tailObject } from './archive-names.ts';
import { type ArchivedObject, endOf, type Manifest } from './manifest.ts';
import type { ArchivePorts, OpenedArchive } from './open-archive.ts';

/** A revision, or the last record that was recorded then or before; without both the end of the archive. */
export interface RestorePoint {
  readonly revision?: number;
  readonly timeMs?: number;
}

/** An object to restore. */
export interface PlannedObject extends ArchivedObject {
  readonly name: string;
  /** A file of a sealed segment; otherwise records. */
  readonly isSegment: boolean;
  /** Revision at its begin: what can be restored without it. */
  readonly basis: number;
}

export interface RestorePlan {
  readonly manifest: Manifest;
  /** One behind the other, from position 0 on. The last one may have records after the restore point. */
  readonly objects: readonly PlannedObject[];
}

/**
 * The objects for a restore point.
 * @throws DatabaseError when the archive does not have it; ArchiveFault when the manifest that may have it is damaged
 */
export function planRestore(opened: OpenedArchive, databaseId: string, point: RestorePoint = {}): RestorePlan {
  const { newest, faults } = opened;
  if (newest === undefined) {
    throw faults[0] ?? new DatabaseError('not_found', `the archive has no database with the id ${databaseId}`);
  }
  const { manifest } = newest;
  const end = endOf(manifest);
  const [damaged] = faults;
  if (damaged !== undefined && !isBefore(end, point)) {
    throw withHint(damaged, end.revision);
  }
  const fault = faultInPoint(manifest, point);
  if (fault !== undefined) throw new DatabaseError('not_found', fault);
  const planned = plannedObjects(manifest);
  // Control records of a revision may be in the objects after its transaction.
  const last = planned.findIndex((object) => isBefore(object, point));
  return { manifest, objects: last === -1 ? planned : planned.slice(0, last + 1) };
}

/**
 * The bytes of an object, verified.
 * @throws ArchiveFault when it is missing or damaged
 */
export async function readObject(
  { store, newHash }: ArchivePorts,
  object: PlannedObject,
): Promise<readonly Uint8Array[]> {
  const content = await store.get(object.name);
  if (content === undefined || content.byteLength !== object.bytes) throw wrongLength(object, content?.byteLength);
  const hash = newHash();
  const chunks: Uint8Array[] = [];
  for await (const chunk of content.chunks()) {
    hash.update(chunk);
    chunks.push(chunk);
  }
  const found = hash.hex();
  if (found !== object.hash) throw damagedObject(object, `its SHA-256 is ${found}`);
  return chunks;
}

/** Throws ArchiveFault when the object is missing or has another length, without reading it. */
export async function checkLength({ store }: Pick<ArchivePorts, 'store'>, object: PlannedObject): Promise<void> {
  const found = await store.size(object.name);
  if (found !== object.bytes) throw wrongLength(object, found);
}

function wrongLength(object: PlannedObject, found: number | undefined): ArchiveFault {
  const fault = found === undefined ? 'it is missing' : `it has ${found} bytes, and ${object.bytes} would be right`;
  return damagedObject(object, fault);
}

function damagedObject({ name, basis }: PlannedObject, fault: string): ArchiveFault {
  return withHint(new ArchiveFault(name, fault), basis);
}

/** `revision` is the last one before the fault. Control records of it may be behind it, so the one before is whole. */
function withHint({ object, fault }: ArchiveFault, revision: number): ArchiveFault {
  const before = `the archive can be restored up to revision ${revision - 1}`;
  return new ArchiveFault(object, fault, `; ${revision === 0 ? 'nothing can be restored without it' : before}`);
}

function plannedObjects(manifest: Manifest): readonly PlannedObject[] {
  const { segments, tails, database } = manifest;
  const objects = [
    ...segments.map((segment) => ({ ...segment, name: segmentObject(segment.hash), isSegment: true })),
    ...tails.map((tail) => ({ ...tail, name: tailObject(database.id, tail), isSegment: false })),
  ];
  return objects.map((object, index) => ({ ...object, basis: objects[index - 1]?.revision ?? 0 }));
}

/** Returns whether the point is before this place, so that no record after it is needed. */
function isBefore(
  { revision, recordedTimeMs }: Pick<ArchivedObject, 'revision' | 'recordedTimeMs'>,
  point: RestorePoint,
): boolean {
  const { revision: last = Number.POSITIVE_INFINITY, timeMs = Number.POSITIVE_INFINITY } = point;
  return last < revision || timeMs < recordedTimeMs;
}

function faultInPoint(manifest: Manifest, { revision: wanted = 0, timeMs }: RestorePoint): string | undefined {
  const { number, database } = manifest;
  const { revision } = endOf(manifest);
  if (wanted > revision) {
    const newest = manifestObject(database.id, number);
    return `revision ${wanted} is not in the archive, which ends with revision ${revision} by ${newest}`;
  }
  if (timeMs !== undefined && timeMs < database.createdAtMs) {
    return `the database was created later: ${database.createdAtMs} ms after 1970, and ${timeMs} ms were asked for`;
  }
  return undefined;
}

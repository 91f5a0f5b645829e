/**
 * Plans a restore: finds the objects of an archive that have the history up to a restore point, and verifies them.
 */
import { DatabaseError } from '#base';
import { ArchiveFault, manifestObject, segmentObject, tailObject } from './archive-names.ts';
import { type ArchivedObject, endOf, type Manifest, objectsOf } from './manifest.ts';
import type { ArchivePorts, OpenedArchive } from './open-archive.ts';

/** The end of the archive, a revision, or the last record that was recorded then or before. */
export type RestorePoint =
  | { readonly kind: 'end' }
  | { readonly kind: 'revision'; readonly revision: number }
  | { readonly kind: 'time'; readonly ms: number };

/** An object to restore. */
export interface PlannedObject extends ArchivedObject {
  readonly name: string;
  /** A file of a sealed segment; otherwise records. */
  readonly isSegment: boolean;
  /** Position of its first record. */
  readonly begin: number;
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
export function planRestore(opened: OpenedArchive, databaseId: string, point: RestorePoint): RestorePlan {
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
  if (content === undefined) throw damagedObject(object, 'it is missing');
  if (content.byteLength !== object.bytes) {
    throw damagedObject(object, `it has ${content.byteLength} bytes, and ${object.bytes} would be right`);
  }
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

function damagedObject({ name, basis }: PlannedObject, fault: string): ArchiveFault {
  return withHint(new ArchiveFault(name, fault), basis);
}

function withHint({ object, fault }: ArchiveFault, revision: number): ArchiveFault {
  return new ArchiveFault(object, fault, `; the archive can be restored up to revision ${revision}`);
}

function plannedObjects(manifest: Manifest): readonly PlannedObject[] {
  const objects = objectsOf(manifest);
  return objects.map((object, index) => {
    const before = objects[index - 1];
    const isSegment = index < manifest.segments.length;
    const name = isSegment ? segmentObject(object.hash) : tailObject(manifest.database.id, object.hash);
    return { ...object, name, isSegment, begin: before?.end ?? 0, basis: before?.revision ?? 0 };
  });
}

/** Returns whether the point is before this place, so that no record after it is needed. */
function isBefore(
  { revision, recordedTimeMs }: Pick<ArchivedObject, 'revision' | 'recordedTimeMs'>,
  point: RestorePoint,
): boolean {
  switch (point.kind) {
    case 'end':
      return false;
    case 'revision':
      return point.revision < revision;
    case 'time':
      return point.ms < recordedTimeMs;
  }
}

function faultInPoint(manifest: Manifest, point: RestorePoint): string | undefined {
  const { number, database } = manifest;
  const { revision } = endOf(manifest);
  if (point.kind === 'revision' && point.revision > revision) {
    const newest = manifestObject(database.id, number);
    return `revision ${point.revision} is not in the archive, which ends with revision ${revision} by ${newest}`;
  }
  if (point.kind === 'time' && point.ms < database.createdAtMs) {
    return `the database was created later: ${database.createdAtMs} ms after 1970, and ${point.ms} ms were asked for`;
  }
  return undefined;
}

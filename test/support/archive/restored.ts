// Restores from a store, and what manifests in memory say, read without the code under test.
import { type ArchiveFault, type ObjectStore, openArchive, planRestore, type RestorePoint, readObject } from '#archive';
import { DATABASE, newHash, SEGMENT_HEADER } from './archived-history.ts';
import type { SimulatedStore } from './simulated-store.ts';

/** The records in the objects of the plan, from position 0 on. */
export async function restored(store: ObjectStore, point: RestorePoint): Promise<Uint8Array> {
  const ports = { store, newHash };
  const { objects } = planRestore(await openArchive(ports, DATABASE.id), DATABASE.id, point);
  const parts: Uint8Array[] = [];
  for (const object of objects) {
    const bytes = Buffer.concat(await readObject(ports, object));
    parts.push(bytes.subarray(object.isSegment ? SEGMENT_HEADER.length : 0));
  }
  return Buffer.concat(parts);
}

export async function restoredOrFault(store: ObjectStore, point: RestorePoint): Promise<Uint8Array | ArchiveFault> {
  return restored(store, point).catch((failure: ArchiveFault) => failure);
}

export interface WrittenManifest {
  readonly number: number;
  readonly writtenAtMs: number;
  readonly basis: { readonly number: number; readonly hash: string } | null;
  readonly segments: readonly WrittenObject[];
  readonly tails: readonly WrittenTail[];
}

export interface WrittenObject {
  readonly hash: string;
  readonly end: number;
  readonly revision: number;
}

export interface WrittenTail extends WrittenObject {
  readonly number: number;
}

/** All manifests, by number. */
export function manifestsIn(store: SimulatedStore): readonly WrittenManifest[] {
  const names = [...store.objects.keys()].filter((name) => name.includes('/manifests/')).toSorted();
  return names.map((name) => manifestIn(store, name));
}

export function manifestIn(store: SimulatedStore, name: string): WrittenManifest {
  return JSON.parse(
    Buffer.from(store.objects.get(name) ?? [])
      .toString()
      .split('\n')[0] ?? '',
  ) as WrittenManifest;
}

/** The records that a manifest covers. */
export function recordsOf(store: SimulatedStore, { segments, tails }: WrittenManifest): Uint8Array {
  const files = segments.map(({ hash }) => bytesOf(store, `segments/${hash}`).subarray(SEGMENT_HEADER.length));
  return Buffer.concat([...files, ...tails.map((tail) => bytesOf(store, tailName(tail)))]);
}

export function tailName({ number, hash }: WrittenTail): string {
  return `databases/${DATABASE.id}/tails/${String(number).padStart(12, '0')}-${hash}`;
}

export function manifestName(number: number): string {
  return `databases/${DATABASE.id}/manifests/${String(number).padStart(12, '0')}`;
}

function bytesOf(store: SimulatedStore, name: string): Uint8Array {
  const bytes = store.objects.get(name);
  if (bytes === undefined) throw new Error(`${name} is missing`);
  return bytes;
}

/**
 * Finds the newest manifest of an archive. A listing may be stale, so it is only where the search begins, which then
 * asks whether later manifests exist:
 *
 * ```
 * the multiples of 32768 after it, from there on those of 1024, of 32, and each one
 * ```
 * The multiples of a step may go when two of the next larger step follow them: the search does not need them then.
 */
import { ArchiveFault, manifestNumber, manifestObject, manifestsOf } from './archive-names.ts';
import { decodeManifest, type Manifest, type ManifestMark, markOf } from './manifest.ts';
import { bytesOf, type NewHash, type ObjectStore } from './object-store.ts';

export interface ArchivePorts {
  readonly store: ObjectStore;
  readonly newHash: NewHash;
}

export interface FoundManifest {
  readonly manifest: Manifest;
  /** Names it in the next one. */
  readonly mark: ManifestMark;
}

export interface OpenedArchive {
  /** The newest manifest that is whole; undefined when there is none. */
  readonly newest: FoundManifest | undefined;
  /** The highest number of a manifest, whole or not; 0 when there is none. */
  readonly last: number;
  /** Faults of newer manifests, the newest first. */
  readonly faults: readonly ArchiveFault[];
}

/** Each is a multiple of the next. */
const STEPS = [32_768, 1_024, 32, 1] as const;
/** Damaged manifests that are passed over in search of a whole one. */
const DAMAGED_MAX = 64;

export async function openArchive({ store, newHash }: ArchivePorts, databaseId: string): Promise<OpenedArchive> {
  const listed = await store.list(manifestsOf(databaseId));
  const shown = listed.reduce((number, name) => Math.max(number, manifestNumber(name)), 0);
  const last = await lastNumber(shown, async (number) => {
    return (await store.size(manifestObject(databaseId, number))) !== undefined;
  });
  const faults: ArchiveFault[] = [];
  for (let number = last; number > Math.max(0, last - DAMAGED_MAX); number--) {
    const found = await readManifest({ store, newHash }, databaseId, number);
    if (!(found instanceof ArchiveFault)) return { newest: found, last, faults };
    faults.push(found);
  }
  return { newest: undefined, last, faults };
}

/** The last number that exists, or `shown` if none after it does. */
async function lastNumber(shown: number, exists: (number: number) => Promise<boolean>): Promise<number> {
  let last = shown;
  for (const step of STEPS) {
    let next = (Math.floor(last / step) + 1) * step;
    for (; await exists(next); next += step) last = next;
  }
  return last;
}

async function readManifest(
  { store, newHash }: ArchivePorts,
  databaseId: string,
  number: number,
): Promise<FoundManifest | ArchiveFault> {
  const name = manifestObject(databaseId, number);
  const content = await store.get(name);
  if (content === undefined) return new ArchiveFault(name, 'it is missing');
  const bytes = await bytesOf(content);
  const manifest = decodeManifest(newHash, bytes, { databaseId, number });
  return typeof manifest === 'string'
    ? new ArchiveFault(name, manifest)
    : { manifest, mark: markOf(newHash, bytes, manifest) };
}

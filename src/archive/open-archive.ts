/**
 * Finds the newest manifest of an archive. A listing may be stale, so it is only where the search begins, which then
 * asks whether later manifests exist:
 *
 * ```
 * the multiples of 32768 after it, from there on those of 1024, of 32, and each one
 * ```
 * The multiples of a step may go when two of the next larger step follow them: the search does not need them then. So
 * an archive keeps all of the last 64 manifests, one of 32 of the last 2048, one of 1024 of the last 65536, and one of
 * 32768 of all.
 */
import { ArchiveFault, manifestObject, manifestsOf, numberIn } from './archive-names.ts';
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
/** Damaged manifests that are passed over in search of a whole one: as many as are there in any case. */
export const DAMAGED_MAX = 64;

export async function openArchive({ store, newHash }: ArchivePorts, databaseId: string): Promise<OpenedArchive> {
  const listed = await store.list(manifestsOf(databaseId));
  const shown = listed.reduce((number, name) => Math.max(number, numberIn(name)), 0);
  const last = await lastNumber(store, databaseId, shown);
  const faults: ArchiveFault[] = [];
  for (let number = last; number > Math.max(0, last - DAMAGED_MAX); number--) {
    const found = await readManifest({ store, newHash }, databaseId, number);
    if (!(found instanceof ArchiveFault)) return { newest: found, last, faults };
    faults.push(found);
  }
  return { newest: undefined, last, faults };
}

/** Numbers of the manifests that an archive keeps while the newest is `last`. */
export function keptNumbers(last: number): ReadonlySet<number> {
  const kept = STEPS.map((step, level) => {
    const above = STEPS[level - 1];
    const first = above === undefined ? 0 : Math.max(0, last - 2 * above);
    const begin = Math.floor(first / step) + 1;
    return Array.from({ length: Math.floor(last / step) + 1 - begin }, (_, index) => (begin + index) * step);
  });
  return new Set(kept.flat());
}

/** The last number that exists, or `shown` if none after it does. */
export async function lastNumber(store: Pick<ObjectStore, 'size'>, databaseId: string, shown: number): Promise<number> {
  let last = shown;
  for (const step of STEPS) {
    let next = (Math.floor(last / step) + 1) * step;
    for (; (await store.size(manifestObject(databaseId, next))) !== undefined; next += step) last = next;
  }
  return last;
}

/** A manifest; what is wrong with it when it is missing or damaged. */
export async function readManifest(
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

/**
 * Retention: removes what an archive of a database need not keep.
 *
 * ```
 * segments   stay: every later manifest of their database names them
 * manifests  those stay that the search for the newest one needs: the last 64, and ever fewer before them
 * tails      those stay that the last 64 manifests name, and those that an older one names which is younger than `ttl`
 * ```
 * Each manifest is complete, and gives any earlier revision and time. So older ones are of use only when the newer ones
 * are damaged.
 *
 * Archivers need not be asked. A tail has in its name the number of the manifest that it was written for. Once a
 * manifest has this number, no other one can be created with it, and later ones name the tail only if that one does.
 * An archiver that has slept may create one whose number was removed; it is not the newest, and the search for the
 * newest does not need it.
 */
import { inParallel } from '#base';
import { manifestsOf, numberIn, tailObject, tailsOf } from './archive-names.ts';
import { type ArchivePorts, DAMAGED_MAX, keptNumbers, openArchive, readManifest } from './open-archive.ts';
import { checkLength, planRestore } from './restore-plan.ts';

/** Number of objects that were removed. */
export interface Pruned {
  readonly manifests: number;
  readonly tails: number;
}

/** Calls of the store at a time. */
const LANES = 16;

/**
 * Removes manifests, then tails; after a failure the next call does the rest. Tails of older kept manifests stay if
 * these were written at `keptFromMs` or later.
 * @throws ArchiveFault, and removes nothing, when the newest manifest or an object that it names is not whole
 */
export async function pruneArchive(ports: ArchivePorts, databaseId: string, keptFromMs: number): Promise<Pruned> {
  const { store } = ports;
  const opened = await openArchive(ports, databaseId);
  const { objects } = planRestore(opened, databaseId);
  await inParallel(LANES, objects, (object) => checkLength(ports, object));
  const { last } = opened;
  const kept = keptNumbers(last);
  const manifests = await store.list(manifestsOf(databaseId));
  const removed = manifests.filter((name) => isUpTo(last, name) && !kept.has(numberIn(name)));
  await inParallel(LANES, removed, (name) => store.remove(name));
  // Manifests are read by their numbers, because a listing may conceal some.
  const named = new Set<string>();
  await inParallel(LANES, [...kept], async (number) => {
    const found = await readManifest(ports, databaseId, number);
    if (!('manifest' in found)) return;
    const { tails, writtenAtMs } = found.manifest;
    if (number <= last - DAMAGED_MAX && writtenAtMs < keptFromMs) return;
    for (const tail of tails) named.add(tailObject(databaseId, tail));
  });
  const tails = await store.list(tailsOf(databaseId));
  const unnamed = tails.filter((name) => isUpTo(last, name) && !named.has(name));
  await inParallel(LANES, unnamed, (name) => store.remove(name));
  return { manifests: removed.length, tails: unnamed.length };
}

/** Objects without a number belong to others. */
function isUpTo(last: number, name: string): boolean {
  const number = numberIn(name);
  return number > 0 && number <= last;
}

/**
 * The archive of a node in a directory, read without the code of the node: its manifests are numbered without a gap,
 * each names the one before it by its hash, and none covers less. `cairn restore` makes a node of it.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, watch } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { productArgs } from './product.ts';

interface Manifest {
  readonly number: number;
  readonly basis: { readonly hash: string } | null;
  readonly segments: readonly Archived[];
  readonly tails: readonly Archived[];
}

interface Archived {
  readonly end: number;
  readonly revision: number;
}

const CHANGE_MS_MAX = 60_000;
const CAUGHT_UP_MS_MAX = 60_000;
const POLL_MS = 100;

/** Resolves when a file is made or renamed in the directory, which happens in the middle of a round. */
export async function archiveChange(directory: string): Promise<void> {
  const watcher = watch(directory, { recursive: true });
  try {
    await once(watcher, 'change', { signal: AbortSignal.timeout(CHANGE_MS_MAX) });
  } catch (cause) {
    throw new Error(`the node has archived nothing for ${CHANGE_MS_MAX} ms`, { cause });
  } finally {
    watcher.close();
  }
}

/** Waits until the archive of the database ends with the revision. @throws Error for the first fault of a manifest */
export async function archivedUpTo(directory: string, databaseId: string, revision: number): Promise<void> {
  const deadline = performance.now() + CAUGHT_UP_MS_MAX;
  for (;;) {
    const found = archivedRevision(join(directory, 'databases', databaseId, 'manifests'));
    if (found === revision) return;
    if (performance.now() > deadline) throw new Error(`the archive has ${found} of ${revision} revisions`);
    await delay(POLL_MS);
  }
}

function archivedRevision(manifests: string): number {
  let before: { readonly end: Archived; readonly hash: string | undefined } = {
    end: { end: 0, revision: 0 },
    hash: undefined,
  };
  for (const [index, name] of (existsSync(manifests) ? manifestsIn(manifests) : []).entries()) {
    const bytes = readFileSync(join(manifests, name));
    const manifest: Manifest = JSON.parse(bytes.toString().split('\n')[0] ?? '');
    const end = [...manifest.segments, ...manifest.tails].at(-1) ?? { end: 0, revision: 0 };
    if (manifest.number !== index + 1 || Number(name) !== index + 1)
      throw new Error(`manifest ${index + 1} is ${name}`);
    if (manifest.basis?.hash !== before.hash) throw new Error(`manifest ${name} does not continue the one before`);
    if (end.end < before.end.end) throw new Error(`manifest ${name} covers less than the one before`);
    before = { end, hash: createHash('sha256').update(bytes).digest('hex') };
  }
  return before.end.revision;
}

function manifestsIn(folder: string): readonly string[] {
  return readdirSync(folder)
    .filter((name) => !name.startsWith('.'))
    .toSorted();
}

/** Makes a data directory of the archive. @throws Error when the command fails */
export function restoreArchive(archive: string, dataDir: string): void {
  const args = [...productArgs(), 'restore', `--from=${archive}`, `--data-dir=${dataDir}`];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`the archive cannot be restored:\n${stderr}`);
}

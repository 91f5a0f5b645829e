/**
 * LevelDB's own files in the directory of a store, beside the histories.
 *
 * All of its rows are derived from histories and log. So a LevelDB that cannot be opened as it was is removed, and a
 * start makes the rows again. Nothing of it is kept: the disk may be full, and there is nothing to restore.
 *
 *   W18  LevelDB is opened only with the files that it has left, or with none.
 */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { caught, ignoring } from '#base';
import { orUnwritten } from './basis/storage-failure.ts';
import { type Disk, patientDisk } from './disk.ts';
import { isMissing } from './segments/segment-disk.ts';

const CURRENT = 'CURRENT';
/** Neither its lock nor LOG and LOG.old, which nothing reads. */
const FILES = /^(?:CURRENT|MANIFEST-\d+|\d+\.(?:ldb|sst|log|dbtmp))$/;
const CONTENT_OF_CURRENT = /^(MANIFEST-\d+)\n$/;

/**
 * Returns why the files are not those of a LevelDB: CURRENT is missing, or names no MANIFEST that is there. LevelDB
 * would make a new store without CURRENT, from logs that are left, and otherwise fail as for an unreadable file.
 */
export function faultOfLevelFiles(directory: string): string | undefined {
  const path = join(directory, CURRENT);
  const content = caught(() => readFileSync(path, 'latin1'), ignoring(isMissing));
  if (content === undefined) return `${path} is missing`;
  const [, manifest] = CONTENT_OF_CURRENT.exec(content) ?? [];
  if (manifest === undefined) return `${path} names no MANIFEST`;
  const isThere = statSync(join(directory, manifest), { throwIfNoEntry: false }) !== undefined;
  return isThere ? undefined : `${join(directory, manifest)} is missing, which CURRENT names`;
}

/**
 * Removes a LevelDB that no process has open. CURRENT is first, durably: without it, files that an interrupted removal
 * has left, or a power failure has brought back, are a fault.
 */
export function removeLevelFiles(
  directory: string,
  disk: Pick<Disk, 'list' | 'remove' | 'syncDirectory'> = patientDisk,
): void {
  orUnwritten(directory, () => {
    const names = disk.list(directory).filter((name) => FILES.test(name));
    const others = names.filter((name) => name !== CURRENT);
    for (const group of [names.filter((name) => name === CURRENT), others]) {
      for (const name of group) disk.remove(join(directory, name));
      disk.syncDirectory(directory);
    }
  });
}

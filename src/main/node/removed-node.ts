/**
 * A node that was removed from its cluster and is started again with its old data directory, such as a pod on a volume
 * that was kept. It cannot become a member again. It logs that once and waits, because it would only be restarted again
 * and again; `cairn rejoin` moves its data aside, and the next start joins as a new node.
 *
 * ```
 *   <data>/removed      marker, written by a start that has found the removal; `cairn rejoin` requires it
 *   <data>/removed.N/   the old data; nothing reads it
 * ```
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseError } from '#base';
import { NODE_REMOVED } from '#cluster';
import { isLevelStoreInUse } from '#storage';
import { refused } from '../process/refusals.ts';

const NOTE = 'removed';
/** Files of a node in its data directory, without the marker. */
const HELD = /^(?:store|ledger(?:\.next)?|log(?:\..+)?|damage|starts)$/;

export function isOfRemovedNode(failure: unknown): failure is DatabaseError {
  return failure instanceof DatabaseError && failure.details.reason === NODE_REMOVED;
}

/** Writes the marker of a removed node, or removes it for a member. */
export function noteWhetherRemoved(dataDirectory: string, isRemoved: boolean): void {
  const note = join(dataDirectory, NOTE);
  if (isRemoved) writeFileSync(note, '');
  else rmSync(note, { force: true });
}

/**
 * Moves the data of a removed node aside, within its directory, and returns where. May be repeated after a crash.
 * @throws DatabaseError when the directory is not known to be that of a removed node, or is in use.
 */
export async function setAside(dataDirectory: string): Promise<string> {
  const note = join(dataDirectory, NOTE);
  if (!existsSync(note))
    throw refused(
      `${dataDirectory} is not known to be the data directory of a removed node: start the node with it once, and look for node-removed in its log`,
    );
  if (await isLevelStoreInUse(join(dataDirectory, 'store')))
    throw refused(`${dataDirectory} is open in another process`);
  const names = readdirSync(dataDirectory);
  let number = 1;
  while (names.includes(`${NOTE}.${number}`)) number += 1;
  const aside = join(dataDirectory, `${NOTE}.${number}`);
  mkdirSync(aside);
  for (const name of [...names.filter((each) => HELD.test(each)), NOTE])
    renameSync(join(dataDirectory, name), join(aside, name));
  for (const directory of [aside, dataDirectory]) sync(directory);
  return aside;
}

function sync(directory: string): void {
  const file = openSync(directory, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

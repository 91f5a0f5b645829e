/**
 * The file `damage` in the data directory: names damage found while the node ran, and why a start has removed LevelDB.
 *
 * Damage may be found long after a start, and the node is restarted automatically: without the note it would serve the
 * damaged rows again until the damage is found once more. With the line `group N`, the next start rebuilds the rows of
 * that database from its history, in the background. With the line `store`, LevelDB is removed before, so that all
 * databases are rebuilt. After a text without either, the start audits the rows of every other database.
 */
import { closeSync, fsyncSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseError, type GroupId, toGroupId } from '#base';

const NAME = 'damage';
const STORE_LINE = 'store';
/** Any other line is text: a damaged note must not keep the node from starting. */
const GROUP_LINE = /^group ([1-9]\d{0,8})$/;

export interface DamageNote {
  /** Without the lines `store` and `group N`. */
  readonly text: string;
  /** Databases whose rows are damaged. */
  readonly groups: readonly GroupId[];
  /** The rows of any other database may be damaged, too. */
  readonly isVague: boolean;
  /** LevelDB is damaged as a whole. */
  readonly isOfStore: boolean;
}

/** @throws DatabaseError when the path is not a regular file. */
export function readDamageNote(dataDirectory: string): DamageNote | undefined {
  const path = join(dataDirectory, NAME);
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  if (!found.isFile()) {
    const message = `${path} must be a file, in which the node records damage; move it away`;
    throw new DatabaseError('invalid_argument', message, { details: { reason: 'DataDirectoryUnusable' } });
  }
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  const isText = (line: string): boolean => line !== STORE_LINE && !GROUP_LINE.test(line);
  const groups = lines.flatMap((line) => GROUP_LINE.exec(line)?.[1] ?? []).map((group) => toGroupId(Number(group)));
  // Each text that names what is damaged is followed by its lines.
  const isVague = lines.some((line, place) => isText(line) && isText(lines[place + 1] ?? ''));
  return { text: lines.filter(isText).join('\n'), groups, isVague, isOfStore: lines.includes(STORE_LINE) };
}

/** Appends the text to the note. */
export function noteDamage(
  dataDirectory: string,
  { text, groups, isOfStore }: Pick<DamageNote, 'text' | 'groups' | 'isOfStore'>,
): void {
  const lines = [text, ...groups.map((group) => `group ${group}`), ...(isOfStore ? [STORE_LINE] : [])];
  write(dataDirectory, 'a', lines.map((line) => `${line}\n`).join(''));
}

/** Replaces the note: LevelDB was removed for this reason. The note stays until the node has started. */
export function noteRemovedRows(dataDirectory: string, fault: string): void {
  write(dataDirectory, 'w', `${fault}\n`);
}

/** Removes the note when no damaged row is used any more, also after a crash. */
export function clearDamageNote(dataDirectory: string): void {
  rmSync(join(dataDirectory, NAME));
}

function write(dataDirectory: string, flags: 'a' | 'w', text: string): void {
  const file = openSync(join(dataDirectory, NAME), flags);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

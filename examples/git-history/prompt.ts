/** The questions as a person types them, one a line, and their answers as text. */
import type { History, TreeEntry } from './history.ts';
import { pathBytes, spellPath, unquote } from './paths.ts';

export const HELP = `who PATH [REVISION]      who last changed a file, as of a revision (default: the latest)
tree DATE [PREFIX]       the files at a date, by author dates: 2024-05-01 (its first moment, UTC) or 2024-05-01T12:00:00Z
tree @REVISION [PREFIX]  the files after a revision
help                     this
quit                     ends

A path may hold spaces. In quotes it is read as a string of JSON, or as git quotes it: who "notes 2024" 12
`;

/** A question that cannot be answered as it is asked; the message says what would be right. */
export class RefusedQuestion extends Error {}

/**
 * The answer to one line; nothing when the line asks to end.
 * @throws RefusedQuestion; ServiceError when the node refuses.
 */
export async function answer(history: History, line: string): Promise<string | undefined> {
  const [, command = '', rest = ''] = /^\s*(\S*)\s*(.*?)\s*$/s.exec(line) ?? [];
  switch (command) {
    case '':
      return '';
    case 'quit':
    case 'exit':
      return undefined;
    case 'who':
      return who(history, rest);
    case 'tree':
      return tree(history, rest);
    case 'help':
      return HELP;
    default:
      throw new RefusedQuestion(`Unknown question ${JSON.stringify(command)}; help lists what can be asked.`);
  }
}

async function who(history: History, asked: string): Promise<string> {
  const latest = await history.latestRevision();
  // The last word is a revision when it is a number and something stands before it.
  const [, before, argument] = /^(.*\S)\s+(\d+)$/s.exec(asked) ?? [];
  const path = parsePath(before ?? asked);
  const revision = argument === undefined ? latest : parseRevision(argument);
  if (path === undefined || path === '' || revision === undefined) {
    throw new RefusedQuestion('Ask: who PATH [REVISION], with a revision such as 12.');
  }
  requireRevision(revision, latest);
  const last = await history.lastChange(path, revision);
  if (last === undefined) return `No commit up to revision ${revision} touches ${path}.\n`;
  const [subject = ''] = last.message.split('\n');
  return `${path}: ${last.deleted ? 'deleted' : 'changed'} by ${last.author} on ${last.authoredAt}
  commit ${last.change.commit}, revision ${last.revision}: ${subject}
`;
}

async function tree(history: History, asked: string): Promise<string> {
  const [, when = '', quoted = ''] = /^(\S*)\s*(.*)$/s.exec(asked) ?? [];
  const prefix = parsePath(quoted);
  const files = prefix === undefined ? undefined : await treeAt(history, when);
  if (prefix === undefined || files === undefined) {
    throw new RefusedQuestion('Ask: tree DATE or tree @REVISION, such as tree 2024-05-01 or tree @12.');
  }
  // By bytes: the beginning of a path may be text where the whole is not.
  const beginning = pathBytes(prefix);
  const paths = Array.from(files.keys()).filter((path) =>
    pathBytes(path).subarray(0, beginning.length).equals(beginning),
  );
  const lines = paths
    .toSorted()
    .map((path) => `  ${files.get(path)?.mode} ${files.get(path)?.blob.slice(0, 10)} ${path}\n`);
  return `${paths.length} ${paths.length === 1 ? 'file' : 'files'}\n${lines.join('')}`;
}

async function treeAt(history: History, when: string): Promise<ReadonlyMap<string, TreeEntry> | undefined> {
  if (when.startsWith('@')) {
    const revision = parseRevision(when.slice(1));
    if (revision === undefined) return undefined;
    requireRevision(revision, await history.latestRevision());
    return history.treeAtRevision(revision);
  }
  const time = parseTime(when);
  return time === undefined ? undefined : history.treeAtTime(time);
}

const TIME = /^(\d{4}-\d\d-\d\d)(?:T\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d))?$/;

/** A day, which means its first moment (UTC), or a time of RFC 3339; nothing when it is of neither form. */
function parseTime(text: string): Date | undefined {
  const [, day] = TIME.exec(text) ?? [];
  if (day === undefined) return undefined;
  // Date takes the 30th of February for the 1st of March.
  const midnight = new Date(`${day}T00:00:00Z`);
  if (Number.isNaN(midnight.getTime()) || !midnight.toISOString().startsWith(day))
    throw new RefusedQuestion(`There is no date ${day}.`);
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) throw new RefusedQuestion(`There is no time ${text}.`);
  return time;
}

function requireRevision(revision: number, latest: number): void {
  if (revision > latest) throw new RefusedQuestion(`There is no revision ${revision}; the latest is ${latest}.`);
}

/** A path as it stands, or in the quotes of JSON or of git; nothing when those are not closed. */
function parsePath(text: string): string | undefined {
  if (!text.startsWith('"')) return text;
  const bytes = jsonBytes(text) ?? unquote(text);
  return bytes === undefined ? undefined : spellPath(bytes);
}

function jsonBytes(text: string): Buffer | undefined {
  try {
    const path: unknown = JSON.parse(text);
    return typeof path === 'string' ? Buffer.from(path) : undefined;
  } catch {
    return undefined;
  }
}

function parseRevision(text: string): number | undefined {
  return /^(?:0|[1-9]\d{0,14})$/.test(text) ? Number(text) : undefined;
}

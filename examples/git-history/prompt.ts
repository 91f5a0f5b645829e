/** The questions as a person types them, one a line, and their answers as text. */
import type { History, TreeEntry } from './history.ts';

export const HELP = `who PATH [REVISION]      who last changed a file, as of a revision (default: the latest)
tree DATE [PREFIX]       the files at a date, by author dates: 2024-05-01 or 2024-05-01T12:00:00Z
tree @REVISION [PREFIX]  the files after a revision
help                     this
quit                     ends
`;

/** The answer to one line; nothing when the line asks to end. */
export async function answer(history: History, line: string): Promise<string | undefined> {
  const [command = '', subject = '', argument] = line.trim().split(/\s+/);
  switch (command) {
    case '':
      return '';
    case 'quit':
    case 'exit':
      return undefined;
    case 'who':
      return who(history, subject, argument);
    case 'tree':
      return tree(history, subject, argument ?? '');
    case 'help':
      return HELP;
    default:
      return `Unknown question ${JSON.stringify(command)}; help lists what can be asked.\n`;
  }
}

async function who(history: History, path: string, argument: string | undefined): Promise<string> {
  const latest = await history.latestRevision();
  const revision = argument === undefined ? latest : parseRevision(argument);
  if (path === '' || revision === undefined) return 'Ask: who PATH [REVISION], with a revision such as 12.\n';
  if (revision > latest) return `There is no revision ${revision}; the latest is ${latest}.\n`;
  const last = await history.lastChange(path, revision);
  if (last === undefined) return `No commit up to revision ${revision} touches ${path}.\n`;
  const [subject = ''] = last.message.split('\n');
  return `${path}: ${last.deleted ? 'deleted' : 'changed'} by ${last.author} on ${last.authoredAt}
  commit ${last.change.commit}, revision ${last.revision}: ${subject}
`;
}

async function tree(history: History, when: string, prefix: string): Promise<string> {
  const files = await treeAt(history, when);
  if (files === undefined) return 'Ask: tree DATE or tree @REVISION, such as tree 2024-05-01 or tree @12.\n';
  const paths = Array.from(files.keys()).filter((path) => path.startsWith(prefix));
  const lines = paths
    .toSorted()
    .map((path) => `  ${files.get(path)?.mode} ${files.get(path)?.blob.slice(0, 10)} ${path}\n`);
  return `${paths.length} files\n${lines.join('')}`;
}

async function treeAt(history: History, when: string): Promise<ReadonlyMap<string, TreeEntry> | undefined> {
  if (when.startsWith('@')) {
    const revision = parseRevision(when.slice(1));
    return revision === undefined ? undefined : history.treeAtRevision(revision);
  }
  const time = new Date(when);
  return Number.isNaN(time.getTime()) ? undefined : history.treeAtTime(time);
}

function parseRevision(text: string): number | undefined {
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

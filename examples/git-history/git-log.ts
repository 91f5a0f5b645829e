/**
 * Reads the history of a git repository as a stream of commits, oldest first, each with the files that it changed.
 *
 * Parents come before their children. A merge is compared with what the commits before it have left, so that after
 * each merge the files are exactly those of its tree, whichever side won.
 */
import { spawn } from 'node:child_process';
import { StringDecoder } from 'node:string_decoder';

export interface Change {
  readonly kind: 'added' | 'modified' | 'deleted';
  readonly path: string;
  /** As git writes it: 100644, 100755, 120000 (link) or 160000 (submodule); of what was deleted, when it was. */
  readonly mode: string;
  /** Hash of the content; of a deleted file, of its last content. */
  readonly blob: string;
}

export interface Commit {
  readonly hash: string;
  readonly parents: readonly string[];
  readonly authorName: string;
  readonly authorEmail: string;
  /** RFC 3339, with the author's offset. */
  readonly authoredAt: string;
  readonly message: string;
  readonly changes: readonly Change[];
}

/** The files of a moment: path to content. */
export type Tree = ReadonlyMap<string, { readonly mode: string; readonly blob: string }>;

const FORMAT = '%x01%H%x00%aN%x00%aE%x00%aI%x00%P%x00%B%x00';
const COMMIT_MARK = '\x01';
const NO_BLOB = /^0+$/;
const KINDS: Readonly<Record<string, Change['kind']>> = { A: 'added', M: 'modified', T: 'modified', D: 'deleted' };

/** How many commits HEAD has. */
export async function countCommits(repository: string): Promise<number> {
  let text = '';
  for await (const token of tokens(repository, ['rev-list', '--count', 'HEAD'])) text += token;
  return Number(text);
}

/** The commit without parents that HEAD comes from; of several, the oldest. */
export async function rootCommit(repository: string): Promise<string> {
  let text = '';
  for await (const token of tokens(repository, ['rev-list', '--max-parents=0', 'HEAD'])) text += token;
  return text.trim().split('\n').at(-1) ?? '';
}

/** The files of a revision of git's, such as HEAD. */
export async function readTree(repository: string, revision: string): Promise<Tree> {
  const tree = new Map<string, { mode: string; blob: string }>();
  for await (const token of tokens(repository, ['ls-tree', '-r', '-z', revision])) {
    const [meta = '', path = ''] = splitOnce(token, '\t');
    const [mode = '', , blob = ''] = meta.split(' ');
    tree.set(path, { mode, blob });
  }
  return tree;
}

export async function* readCommits(repository: string): AsyncGenerator<Commit> {
  const files = new Map<string, { mode: string; blob: string }>();
  for await (const read of readLog(repository)) {
    const changes = read.parents.length > 1 ? await differences(files, repository, read.hash) : read.changes;
    for (const { kind, path, mode, blob } of changes) {
      if (kind === 'deleted') files.delete(path);
      else files.set(path, { mode, blob });
    }
    yield { ...read, changes };
  }
}

async function differences(files: Tree, repository: string, merge: string): Promise<readonly Change[]> {
  const merged = await readTree(repository, merge);
  const changes: Change[] = [];
  for (const [path, { mode, blob }] of merged) {
    const before = files.get(path);
    if (before === undefined) changes.push({ kind: 'added', path, mode, blob });
    else if (before.blob !== blob || before.mode !== mode) changes.push({ kind: 'modified', path, mode, blob });
  }
  for (const [path, { mode, blob }] of files) {
    if (!merged.has(path)) changes.push({ kind: 'deleted', path, mode, blob });
  }
  return changes;
}

async function* readLog(repository: string): AsyncGenerator<Commit> {
  const args = ['log', '--reverse', '--topo-order', '--raw', '-z', '--no-abbrev', '--no-renames', '--root'];
  let fields: string[] = [];
  for await (const token of tokens(repository, [...args, `--format=${FORMAT}`, 'HEAD'])) {
    if (token.startsWith(COMMIT_MARK)) {
      if (fields.length > 0) yield parseCommit(fields);
      fields = [token.slice(COMMIT_MARK.length)];
    } else fields.push(token);
  }
  if (fields.length > 0) yield parseCommit(fields);
}

function parseCommit(fields: readonly string[]): Commit {
  const [hash = '', authorName = '', authorEmail = '', authoredAt = '', parents = '', message = '', ...rest] = fields;
  const changes: Change[] = [];
  for (let at = 0; at < rest.length; at++) {
    // The first entry of a commit stands behind a line break, and an empty token before it.
    const meta = /^\n?:(\d+) (\d+) ([0-9a-f]+) ([0-9a-f]+) ([A-Z])/.exec(rest[at] ?? '');
    if (meta === null) continue;
    const [, oldMode = '', newMode = '', oldBlob = '', newBlob = '', letter = ''] = meta;
    at += 1;
    const gone = NO_BLOB.test(newBlob);
    changes.push({
      kind: KINDS[letter] ?? 'modified',
      path: rest[at] ?? '',
      mode: gone ? oldMode : newMode,
      blob: gone ? oldBlob : newBlob,
    });
  }
  return {
    hash,
    authorName,
    authorEmail,
    authoredAt,
    parents: parents.split(' ').filter(Boolean),
    message: message.trimEnd(),
    changes,
  };
}

/** What git prints, cut at NUL, as it comes. */
async function* tokens(repository: string, args: readonly string[]): AsyncGenerator<string> {
  const git = spawn('git', ['-C', repository, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<number | null>((resolve, reject) => {
    git.once('error', (error) => reject(new Error(`git could not be run: ${error.message}`, { cause: error })));
    git.once('close', resolve);
  });
  // It is awaited below, behind the output; until then a failure is not one that nobody looks at.
  ended.catch(() => undefined);
  let complaint = '';
  git.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint += text;
  });
  const decoder = new StringDecoder('utf8');
  let rest = '';
  const output: AsyncIterable<Buffer> = git.stdout;
  for await (const chunk of output) {
    const parts = (rest + decoder.write(chunk)).split('\0');
    rest = parts.pop() ?? '';
    yield* parts;
  }
  if (rest !== '') yield rest;
  const code = await ended;
  const [firstLine = ''] = complaint.trim().split('\n');
  if (code !== 0) throw new Error(`git ${args[0]} failed in ${repository}: ${firstLine}`);
}

function splitOnce(text: string, separator: string): readonly string[] {
  const at = text.indexOf(separator);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + separator.length)];
}

/**
 * Reads the history of a git repository as a stream of commits, oldest first, each with the files that it changed.
 *
 * Parents come before their children. A merge is compared with what the commits before it have left, so that after
 * each merge the files are exactly those of its tree, whichever side won.
 */
import { spawn } from 'node:child_process';
import { authorDateIn, rfc3339Of } from './author-date.ts';
import { spellPath } from './paths.ts';

export interface Change {
  readonly kind: 'added' | 'modified' | 'deleted';
  /** As paths.ts spells it. */
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
  /**
   * RFC 3339, with the author's offset, or in UTC where RFC 3339 cannot say it. Of a commit without a date the
   * committer's, and without that the first moment of 1970, which git shows for it.
   */
  readonly authoredAt: string;
  readonly message: string;
  readonly changes: readonly Change[];
}

/** The files of a moment: path to content. */
export type Tree = ReadonlyMap<string, { readonly mode: string; readonly blob: string }>;

const HEADER = ['%H', '%aN', '%aE', '%at', '%ad', '%ct', '%P', '%B'];
const FORMAT = `%x01${HEADER.join('%x00')}%x00`;
const COMMIT_MARK = 1;
/** The first entry of a commit stands behind a line break, and an empty token before it. */
const ENTRY = /^\n?:(\d+) (\d+) ([0-9a-f]+) ([0-9a-f]+) ([A-Z])/;
const NO_DATE = '1970-01-01T00:00:00Z';
const NO_BLOB = /^0+$/;
const KINDS: Readonly<Record<string, Change['kind']>> = { A: 'added', M: 'modified', T: 'modified', D: 'deleted' };

/** HEAD, and the parents of every commit that it comes from, itself included. */
export interface Ancestry {
  readonly head: string;
  readonly parents: ReadonlyMap<string, readonly string[]>;
}

export async function readAncestry(repository: string): Promise<Ancestry> {
  const text = await ofHead(repository, ['rev-list', '--topo-order', '--parents', 'HEAD']);
  const parents = new Map<string, readonly string[]>();
  for (const line of text.trim().split('\n')) {
    const [commit = '', ...its] = line.split(' ');
    parents.set(commit, its);
  }
  const [head = ''] = parents.keys();
  return { head, parents };
}

/** The commit without parents that HEAD comes from; of several, the oldest. */
export async function rootCommit(repository: string): Promise<string> {
  const text = await ofHead(repository, ['rev-list', '--max-parents=0', 'HEAD']);
  return text.trim().split('\n').at(-1) ?? '';
}

/** The files of a revision of git's, such as HEAD. */
export async function readTree(repository: string, revision: string): Promise<Tree> {
  const tree = new Map<string, { mode: string; blob: string }>();
  for await (const token of tokens(repository, ['ls-tree', '-r', '-z', revision])) {
    const tab = token.indexOf('\t');
    const [mode = '', , blob = ''] = token.toString('latin1', 0, tab).split(' ');
    tree.set(spellPath(token.subarray(tab + 1)), { mode, blob });
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
  // Whatever the reader's own settings are.
  const fixed = ['-c', 'i18n.logOutputEncoding=UTF-8', ...args, '--no-show-signature', '--date=raw'];
  let header: string[] = [];
  let entry: RegExpExecArray | undefined;
  let changes: Change[] = [];
  for await (const token of tokens(repository, [...fixed, `--format=${FORMAT}`, 'HEAD'])) {
    if (entry !== undefined) {
      changes.push(changeOf(entry, spellPath(token)));
      entry = undefined;
    } else if (header.length > 0 && header.length < HEADER.length) header.push(token.toString('utf8'));
    else if (token[0] === COMMIT_MARK) {
      if (header.length > 0) yield await commitOf(repository, header, changes);
      header = [token.toString('utf8', 1)];
      changes = [];
    } else entry = ENTRY.exec(token.toString('latin1')) ?? undefined;
  }
  if (header.length > 0) yield await commitOf(repository, header, changes);
}

function changeOf(entry: RegExpExecArray, path: string): Change {
  const [, oldMode = '', newMode = '', oldBlob = '', newBlob = '', letter = ''] = entry;
  const gone = NO_BLOB.test(newBlob);
  return {
    kind: KINDS[letter] ?? 'modified',
    path,
    mode: gone ? oldMode : newMode,
    blob: gone ? oldBlob : newBlob,
  };
}

async function commitOf(repository: string, header: readonly string[], changes: readonly Change[]): Promise<Commit> {
  const [hash = '', name = '', email = '', authored = '', date = '', committed = '', parents = '', message = ''] =
    header;
  const [, offset = ''] = date.split(' ');
  const ofAuthor =
    authored === ''
      ? authorDateIn(await output(repository, ['cat-file', 'commit', hash]))
      : { seconds: authored, offset };
  return {
    hash,
    // Git leaves these unchanged where the author is not of the form that it writes.
    authorName: name === '%aN' ? '' : name,
    authorEmail: email === '%aE' ? '' : email,
    authoredAt: rfc3339Of(ofAuthor) ?? rfc3339Of({ seconds: committed, offset: '' }) ?? NO_DATE,
    parents: parents.split(' ').filter(Boolean),
    message: message.trimEnd(),
    changes,
  };
}

/** Returns the output of git about HEAD. Throws with plain words where there is none yet. */
async function ofHead(repository: string, args: readonly string[]): Promise<string> {
  try {
    return await output(repository, args);
  } catch (error) {
    if (await hasNoHead(repository)) throw new Error(`${repository} has no commits.`, { cause: error });
    throw error;
  }
}

async function hasNoHead(repository: string): Promise<boolean> {
  try {
    await output(repository, ['rev-parse', '--verify', '--quiet', 'HEAD']);
    return false;
  } catch (error) {
    // Where there is no repository, or no git, it is another failure.
    return error instanceof GitFailure && error.exitCode === 1;
  }
}

class GitFailure extends Error {
  readonly exitCode: number | null;

  constructor(message: string, exitCode: number | null) {
    super(message);
    this.exitCode = exitCode;
  }
}

async function output(repository: string, args: readonly string[]): Promise<string> {
  let text = '';
  for await (const token of tokens(repository, args)) text += token.toString('utf8');
  return text;
}

/** Returns the output of git as it arrives, cut at NUL. */
async function* tokens(repository: string, args: readonly string[]): AsyncGenerator<Buffer> {
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
  // A token may come in many chunks: they are put together once, at its end.
  let begun: Buffer[] = [];
  const chunks: AsyncIterable<Buffer> = git.stdout;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(0); end !== -1; end = chunk.indexOf(0, start)) {
      yield Buffer.concat([...begun, chunk.subarray(start, end)]);
      begun = [];
      start = end + 1;
    }
    if (start < chunk.length) begun.push(chunk.subarray(start));
  }
  if (begun.length > 0) yield Buffer.concat(begun);
  const code = await ended;
  const [firstLine = ''] = complaint.trim().split('\n');
  if (code !== 0) throw new GitFailure(`git ${commandOf(args)} failed in ${repository}: ${firstLine}`, code);
}

/** The command and what it is asked about, without options. */
function commandOf(args: readonly string[]): string {
  const words = args.filter((word, i) => !word.startsWith('-') && args[i - 1] !== '-c');
  return words.filter((word) => word !== 'HEAD').join(' ');
}

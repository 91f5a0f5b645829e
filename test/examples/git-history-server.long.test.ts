// Goal: the example works on real input, end to end: what it imports over gRPC answers as git itself does. Method: a
// real server; this repository and a made one with merges, rebased author dates and odd names; git ls-tree and git log
// as oracles, and a naive replay by author dates; then main.ts as a process, asked by option and by its prompt.
import { execFile, execFileSync, spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { Api } from '../../examples/git-history/api.ts';
import { type Commit, readCommits, readTree, type Tree } from '../../examples/git-history/git-log.ts';
import { History } from '../../examples/git-history/history.ts';
import { type ImportApi, type ImportSummary, importRepository } from '../../examples/git-history/import.ts';
import { GitRepository } from '../support/git-repository.ts';
import { startTestServer } from '../support/server.ts';
import { endWithTest } from '../support/test-scope.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const MAIN = resolve(ROOT, 'examples/git-history/main.ts');
const NODE_OPTIONS = ['--conditions=source', '--disable-warning=ExperimentalWarning'];
const TIMEOUT_MS = 120_000;

function importInto(api: ImportApi, repository: string): Promise<ImportSummary> {
  return importRepository(api, { repository, stream: 'imported', database: 'history' }, { write: () => true });
}

/** The files as they had been written by a time, in the order of author dates: the dumb version. */
async function naiveTreeAt(repository: string, time: Date): Promise<Tree> {
  const tree = new Map<string, { readonly mode: string; readonly blob: string }>();
  const commits: Commit[] = [];
  for await (const commit of readCommits(repository)) commits.push(commit);
  const written = commits.filter(({ authoredAt }) => Date.parse(authoredAt) <= time.getTime());
  for (const { changes } of written.toSorted((a, b) => Date.parse(a.authoredAt) - Date.parse(b.authoredAt))) {
    for (const { kind, path, mode, blob } of changes) {
      if (kind === 'deleted') tree.delete(path);
      else tree.set(path, { mode, blob });
    }
  }
  return tree;
}

async function authorDates(repository: string): Promise<readonly Date[]> {
  const dates: Date[] = [];
  for await (const { authoredAt } of readCommits(repository)) dates.push(new Date(authoredAt));
  return dates.toSorted((a, b) => a.getTime() - b.getTime());
}

/** The last commit that touched a path, and its author, as git says it. */
function lastInGit(repository: string, path: string): string {
  const args = ['-C', repository, 'log', '-1', '--format=%H %aN <%aE>', 'HEAD', '--', `:(literal)${path}`];
  return execFileSync('git', args, { encoding: 'utf8' }).trim();
}

/** A history with a merge that conflicts, a rebased branch, a deletion, a change of mode, and names that hurt. */
function madeRepository(): GitRepository {
  const repository = new GitRepository();
  const at = (day: number): string => `2023-01-${String(day).padStart(2, '0')}T12:00:00+05:30`;
  repository.write('kept.txt', 'base').write('gone.txt', 'x').write('with space.txt', '1');
  repository.commit({ message: 'base', authoredAt: at(1) });
  repository.git('checkout', '--quiet', '-b', 'side');
  repository.write('kept.txt', 'side').write('line\nbreak', 'x').write('qu"ote', 'x').write('名前/ünïcode', 'x');
  repository.commit({ message: 'side', author: 'Grace', authoredAt: at(10) });
  repository.git('checkout', '--quiet', 'main');
  // Written later, and in the history before the side.
  repository
    .write('with space.txt', '2')
    .remove('gone.txt')
    .commit({ message: 'main', author: 'Alan', authoredAt: at(20) });
  repository.git('merge', '--quiet', '--no-edit', 'side');
  // Written first of all, and mailed last.
  repository.write('notes 2024', 'old').write('kept.txt', 'mailed');
  repository.commit({ message: 'a patch from the attic\n\nwith a body', author: 'Ada', authoredAt: at(3) });
  repository.git('update-index', '--chmod=+x', 'kept.txt');
  repository.git('commit', '--quiet', '-m', 'may be run');
  return repository;
}

it('the history of a made repository answers as git does, by revision, by date and by file', {
  timeout: TIMEOUT_MS,
}, async () => {
  using repository = madeRepository();
  await using server = await startTestServer();
  using api = new Api(server.grpc);
  const { revision } = await importInto(api, repository.dir);
  const history = new History(api, 'history');
  const head = await readTree(repository.dir, 'HEAD');
  expect(head.get('kept.txt')?.mode).toBe('100755');

  expect(await history.treeAtRevision(revision)).toEqual(head);
  const dates = await authorDates(repository.dir);
  for (const date of dates) {
    const expected = await naiveTreeAt(repository.dir, date);
    expect(await history.treeAtTime(date)).toEqual(expected);
    const justBefore = new Date(date.getTime() - 1000);
    expect(await history.treeAtTime(justBefore)).toEqual(await naiveTreeAt(repository.dir, justBefore));
  }
  // The side and the attic are in it, and what was written between them is not.
  const [, attic = new Date(0)] = dates;
  expect([...(await history.treeAtTime(attic)).keys()].toSorted()).toEqual([
    'gone.txt',
    'kept.txt',
    'notes 2024',
    'with space.txt',
  ]);
  for (const path of head.keys()) {
    const last = await history.lastChange(path, revision);
    expect(`${last?.change.commit} ${last?.author}`).toBe(lastInGit(repository.dir, path));
  }
  expect(await history.lastChange('gone.txt', revision)).toMatchObject({ deleted: true, author: /^Alan/ });
});

it('main.ts imports, answers --ask, and answers what is piped to its prompt', { timeout: TIMEOUT_MS }, async () => {
  using repository = madeRepository();
  await using server = await startTestServer();
  const args = [...NODE_OPTIONS, MAIN, '--server', server.grpc, '--database', 'asked', repository.dir];
  const questions = ['--ask', 'who with space.txt', '--ask', 'tree @1'];
  const first = await promisify(execFile)(process.execPath, [...args, ...questions]);
  expect(first.stderr).toMatch(
    /100 % {2}6\/6 commits, \d+ events, \d+ events\/s\n6 commits \(1 of them without a changed file\) and \d+ events are in revision \d+ of the database asked\.\n/,
  );
  expect(first.stdout).toMatch(/^with space\.txt: changed by Alan .*\n3 files\n(?: {2}100644 [0-9a-f]{10} .*\n){3}$/s);

  const again = await converse(
    args,
    'who "notes 2024"\nnonsense\ntree @99999\ntree @1 kept\nquit\nwho never reached\n',
  );
  expect(again.code).toBe(0);
  expect(again.stderr.split('\n').at(-2)).toBe(first.stderr.split('\n').at(-2));
  expect(again.stdout).toMatch(
    /who PATH \[REVISION\].*notes 2024: changed by Ada.*Unknown question "nonsense".*\nThere is no revision 99999; the latest is \d+\.\n.*1 file\n/s,
  );
  expect(again.stdout).not.toContain('reached');
});

/** Runs a process with this on its stdin. */
async function converse(
  args: readonly string[],
  input: string,
): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  endWithTest(child);
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  child.stdin.on('error', () => undefined).end(input);
  const code = await new Promise<number | null>((settle, reject) => {
    child.on('error', reject);
    child.on('close', settle);
  });
  return { code, stdout, stderr };
}

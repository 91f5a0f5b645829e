// Goal: replaying the changes that the example reads gives exactly git's own trees, whatever the history looks like.
// Method: small repositories made by git, and this repository itself; git ls-tree is the oracle.
import { expect, test } from 'vitest';
import { type Commit, readCommits, readTree } from '../../examples/git-history/git-log.ts';
import { pathBytes, spellPath, unquote } from '../../examples/git-history/paths.ts';
import { GitRepository } from '../support/git-repository.ts';

async function commitsOf(repository: string): Promise<Commit[]> {
  const commits: Commit[] = [];
  for await (const commit of readCommits(repository)) commits.push(commit);
  return commits;
}

function replay(commits: readonly Commit[]): Map<string, { mode: string; blob: string }> {
  const tree = new Map<string, { mode: string; blob: string }>();
  for (const { kind, path, mode, blob } of commits.flatMap((commit) => commit.changes)) {
    if (kind === 'deleted') tree.delete(path);
    else tree.set(path, { mode, blob });
  }
  return tree;
}

test('a merge that keeps one side leaves the files of its tree', async () => {
  using repository = new GitRepository();
  repository.write('kept', 'base').write('other', 'base').commit({ message: 'base' });
  repository.git('checkout', '--quiet', '-b', 'side');
  repository.write('kept', 'side').write('new', 'side').commit({ message: 'side' });
  repository.git('checkout', '--quiet', 'main');
  repository.write('other', 'main').commit({ message: 'main' });
  repository.git('merge', '--quiet', '--no-edit', '--strategy=ours', 'side');
  repository.write('last', 'x').commit({ message: 'after' });

  const commits = await commitsOf(repository.dir);

  expect(commits).toHaveLength(5);
  expect(replay(commits)).toEqual(await readTree(repository.dir, 'HEAD'));
});

test('author dates are read as RFC 3339 has them, and as the date of the committer where it has none', async () => {
  const DATES = [
    ['1315449530 +51800', '2011-09-08T02:38:50Z'],
    ['1315449530 +0530', '2011-09-08T08:08:50+05:30'],
    ['1315449530 -2359', '2011-09-07T02:39:50-23:59'],
    ['1315449530 -0000', '2011-09-08T02:38:50+00:00'],
    ['1315449530 +0160', '2011-09-08T02:38:50Z'],
    ['-500 +0100', '1970-01-01T00:51:40+01:00'],
    ['-86400 +51800', '1969-12-31T00:00:00Z'],
    ['-62135596800 +0000', '0001-01-01T00:00:00+00:00'],
    ['-62135596800 -0100', '0001-01-01T00:00:00Z'],
    ['253402300799 +0100', '9999-12-31T23:59:59Z'],
    // The committer's: there is none of the author, or none that RFC 3339 has.
    ['', '2024-06-01T00:00:00Z'],
    ['999999999999999 +0000', '2024-06-01T00:00:00Z'],
    ['99999999999999999999999 +0000', '2024-06-01T00:00:00Z'],
  ] as const;
  using repository = new GitRepository();
  for (const [place, [date]] of DATES.entries())
    repository.write('a', String(place)).craft(`Ann <ann@example.com> ${date}`);
  const commits = await commitsOf(repository.dir);
  expect(commits.map(({ authoredAt }) => authoredAt)).toEqual(DATES.map(([, expected]) => expected));
});

test('paths that are no UTF-8 are spelled as git prints them, and no two paths alike', async () => {
  using repository = new GitRepository();
  const names = [
    Buffer.from('caf\xe9.txt', 'latin1'),
    Buffer.from('caf\xe8.txt', 'latin1'),
    Buffer.from('caf\uFFFD.txt'),
    Buffer.from('"caf\\351.txt"'),
    Buffer.from('café.txt'),
    Buffer.from('\x01mark'),
    Buffer.from('\uFEFFbom'),
    Buffer.from('a\tb\xff\x7f', 'latin1'),
  ];
  for (const name of names) repository.writeBytes(name, 'x');
  repository.commit({ message: 'bytes' });
  const [commit] = await commitsOf(repository.dir);
  const paths = commit?.changes.map(({ path }) => path).toSorted();
  expect(paths).toEqual(names.map(spellPath).toSorted());
  expect(new Set(paths).size).toBe(names.length);
  expect(names.map(spellPath).map(pathBytes)).toEqual(names);
  expect([...(await readTree(repository.dir, 'HEAD')).keys()].toSorted()).toEqual(paths);
  // Git is the oracle of what is no UTF-8.
  const printed = repository.git('-c', 'core.quotePath=true', 'ls-tree', '--name-only', 'HEAD').trim().split('\n');
  const foreign = [0, 1, 7].map((at) => spellPath(names[at] ?? Buffer.of()));
  expect(foreign).toEqual([String.raw`"caf\351.txt"`, String.raw`"caf\350.txt"`, String.raw`"a\tb\377\177"`]);
  expect(printed).toEqual(expect.arrayContaining([...foreign, String.raw`"\"caf\\351.txt\""`]));
  const hex = (bytes: Buffer): string => bytes.toString('hex');
  const unquoted = printed.map((name) => hex(unquote(name) ?? Buffer.from(name)));
  expect(unquoted.toSorted()).toEqual(names.map(hex).toSorted());
});

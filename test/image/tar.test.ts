// Goal: other programs can read the archives, and equal entries give equal bytes. Method: GNU tar lists and unpacks
// them.
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writeArchive } from '../../scripts/image/archive.ts';
import { containerConfig } from '../../scripts/image/image.ts';
import { type Entry, entriesOf, tar, textFile } from '../../scripts/image/tar.ts';
import { testDir } from '../support/test-scope.ts';

/** Longer than a name field, so that it is split. */
const LONG = `${'folder/'.repeat(20)}${'name'.repeat(20)}`;
const ENTRIES: readonly Entry[] = [
  textFile('b/text', 'some text'),
  { kind: 'file', path: 'a/program', bytes: Buffer.alloc(1024, 7), isProgram: true },
  { kind: 'link', path: 'a/link', target: '../b/text' },
  { kind: 'folder', path: 'data', mode: 0o700, owner: 65_532 },
  { kind: 'folder', path: 'tmp', mode: 0o1777, owner: 0 },
];

function listed(entries: readonly Entry[]): readonly string[] {
  const options = ['--list', '--verbose', '--numeric-owner', '--utc'];
  const text = execFileSync('tar', options, { input: tar(entries), encoding: 'utf8' });
  return text
    .trimEnd()
    .split('\n')
    .map((line) => line.replaceAll(/ +/g, ' '));
}

describe('tar', () => {
  it('writes modes, owners, links and parent folders, in the order of paths', () => {
    expect(listed(ENTRIES)).toEqual([
      'drwxr-xr-x 0/0 0 1970-01-01 00:00 ./',
      'drwxr-xr-x 0/0 0 1970-01-01 00:00 a/',
      'lrwxrwxrwx 0/0 0 1970-01-01 00:00 a/link -> ../b/text',
      '-rwxr-xr-x 0/0 1024 1970-01-01 00:00 a/program',
      'drwxr-xr-x 0/0 0 1970-01-01 00:00 b/',
      '-rw-r--r-- 0/0 9 1970-01-01 00:00 b/text',
      'drwx------ 65532/65532 0 1970-01-01 00:00 data/',
      'drwxrwxrwt 0/0 0 1970-01-01 00:00 tmp/',
    ]);
  });

  it('writes the content of files', () => {
    const out = execFileSync('tar', ['--extract', '--to-stdout', 'b/text', LONG], {
      input: tar([...ENTRIES, textFile(LONG, ' and more')]),
      encoding: 'utf8',
    });
    expect(out).toBe('some text and more');
  });

  it('packs a link to a folder without the content of the folder', () => {
    const dir = testDir();
    mkdirSync(join(dir, 'folder'));
    writeFileSync(join(dir, 'folder/file'), '');
    symlinkSync('folder', join(dir, 'link'));
    const entries = entriesOf(dir, 'at', () => true);
    expect(entries.map(({ kind, path }) => `${kind} ${path}`).toSorted()).toEqual([
      'file at/folder/file',
      'link at/link',
    ]);
  });

  it.each(['x'.repeat(101), `${'folder/'.repeat(40)}name`])('rejects a path that is too long: %s', (path) => {
    expect(() => tar([textFile(path, '')])).toThrow('the path is too long: ');
  });
});

describe('an archive', () => {
  /** Creates a folder with two files, a link and an excluded file, with the given time of modification. */
  function treeAt(seconds: number, text = 'text'): string {
    const dir = testDir();
    mkdirSync(join(dir, 'sub'));
    for (const name of ['sub/left-out', 'sub/text', 'program']) writeFileSync(join(dir, name), text);
    chmodSync(join(dir, 'program'), 0o700 + (seconds > 0 ? 0o055 : 0o011));
    symlinkSync('text', join(dir, 'sub/link'));
    utimesSync(join(dir, 'sub/text'), seconds, seconds);
    return dir;
  }

  async function digestOf(tree: string): Promise<string> {
    const entries = entriesOf(tree, 'opt', (name) => !name.endsWith('left-out'));
    const file = join(testDir(), 'image.tar');
    const image = {
      name: 'x',
      version: '1',
      created: '2026-01-01T00:00:00Z',
      arch: 'x64',
      config: containerConfig({}),
    };
    const { digest } = await writeArchive(file, [{ name: 'all', entries }], image);
    expect(
      readFileSync(file)
        .subarray(-1024)
        .every((byte) => byte === 0),
    ).toBe(true);
    return digest;
  }

  it('has the same digest for equal trees, and a different one when a text differs', async () => {
    const digest = await digestOf(treeAt(0));
    expect(await digestOf(treeAt(1_000_000))).toBe(digest);
    expect(await digestOf(treeAt(0, 'Text'))).not.toBe(digest);
  });
});

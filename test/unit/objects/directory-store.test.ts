// Goal: a directory is an object store, whose objects are whole and durable when a call has ended, and never there in
// part (X6). Method: the conformance tests of the port; what a crash leaves; the order of system calls, by strace.
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { contentOf } from '#archive';
import { DirectoryStore } from '#objects';
import { SmallDisk } from '../../../chaos/support/small-disk.ts';
import { objectStoreConformance } from '../../support/archive/object-store-conformance.ts';
import { lacksTool } from '../../support/needed-tools.ts';
import { testDir } from '../../support/test-scope.ts';

const CHILD = join(import.meta.dirname, '../../support/archive/put-objects-child.ts');

objectStoreConformance(() => new DirectoryStore(testDir()));

describe('a directory of objects', () => {
  it('does not list what a crash has left of an object', async () => {
    const dir = testDir();
    const store = new DirectoryStore(dir);
    await store.put('segments/aa', contentOf(Buffer.from('first')));
    writeFileSync(join(dir, 'segments', '.partial-1'), 'fir');
    expect(await store.list('')).toEqual(['segments/aa']);
  });

  it('removes what a crash has left of an object an hour ago', async () => {
    const dir = testDir();
    await new DirectoryStore(dir).put('segments/aa', contentOf(Buffer.from('first')));
    for (const name of ['.partial-old', '.partial-new', 'old']) writeFileSync(join(dir, 'segments', name), 'fir');
    const old = new Date(Date.now() - 3_700_000);
    for (const name of ['.partial-old', 'old']) utimesSync(join(dir, 'segments', name), old, old);
    await new DirectoryStore(dir).put('segments/bb', contentOf(Buffer.from('second')));
    expect(readdirSync(join(dir, 'segments')).toSorted()).toEqual(['.partial-new', 'aa', 'bb', 'old']);
  });

  it('leaves no other file behind, also after a failure', async () => {
    const dir = testDir();
    const store = new DirectoryStore(dir);
    const short = { ...contentOf(Buffer.from('first')), byteLength: 6 };
    await expect(store.put('segments/aa', short)).rejects.toThrow('got 5 bytes, and 6 would be right');
    await store.put('segments/aa', contentOf(Buffer.from('first')));
    await store.create('segments/bb', contentOf(Buffer.from('first')));
    await store.create('segments/bb', contentOf(Buffer.from('second')));
    expect(readdirSync(join(dir, 'segments'))).toEqual(['aa', 'bb']);
  });

  it('is not made when it is missing, and is used again when it is back, also empty', async () => {
    const dir = join(testDir(), 'archive');
    mkdirSync(dir);
    const store = new DirectoryStore(dir);
    const put = (): Promise<void> => store.put('databases/one/tails/aa', contentOf(Buffer.from('first')));
    await put();
    renameSync(dir, `${dir}-away`);
    for (let attempt = 0; attempt < 2; attempt++) await expect(put()).rejects.toThrow(dir);
    await expect(put()).rejects.toThrow(`directory ${dir} does not exist: make it, or mount its disk`);
    expect([await store.list(''), await store.size('databases/one/tails/aa'), existsSync(dir)]).toEqual([
      [],
      undefined,
      false,
    ]);
    renameSync(`${dir}-away`, dir);
    await put();
    rmSync(join(dir, 'databases'), { recursive: true });
    await expect(put()).rejects.toThrow('ENOENT');
    await put();
    expect(await store.list('')).toEqual(['databases/one/tails/aa']);
  });

  it.skipIf(lacksTool('unshare'))(
    'keeps what it has while its disk is full, and nothing of what does not fit',
    async () => {
      await using disk = await SmallDisk.mount(1_048_576);
      const store = new DirectoryStore(disk.outside);
      await store.put('segments/aa', contentOf(Buffer.from('first')));
      disk.fillUpTo(65_536, 'others');
      const large = contentOf(Buffer.alloc(262_144, 'large'));
      for (const write of [() => store.put('segments/aa', large), () => store.create('segments/bb', large)]) {
        await expect(write()).rejects.toThrow('ENOSPC');
      }
      expect([await store.list(''), await store.size('segments/aa')]).toEqual([['others', 'segments/aa'], 5]);
      expect(readdirSync(join(disk.outside, 'segments'))).toEqual(['aa']);
      disk.empty('others');
      await store.put('segments/aa', large);
      expect([await store.create('segments/bb', large), await store.size('segments/aa')]).toEqual([true, 262_144]);
    },
  );

  it('refuses names that lead out of it', async () => {
    await expect(new DirectoryStore(testDir()).get('segments/../../x')).rejects.toThrow(
      '"segments/../../x" is no name',
    );
  });

  it.skipIf(lacksTool('strace'))('syncs a file before it gets its name, and the folder afterwards', () => {
    const dir = testDir();
    const trace = join(dir, 'trace');
    const archive = join(dir, 'archive');
    mkdirSync(archive);
    const calls = 'trace=fsync,fdatasync,rename,renameat,renameat2,link,linkat';
    const command = [
      '-f',
      '-y',
      '--quiet=all',
      '-e',
      calls,
      '-o',
      trace,
      process.execPath,
      '--conditions=source',
      CHILD,
    ];
    expect(
      spawnSync('strace', [...command, archive], { encoding: 'utf8', env: { PATH: process.env['PATH'] } }).stderr,
    ).toBe('');
    expect(stepsIn(readFileSync(trace, 'utf8'), dir)).toEqual([
      'fsync /archive',
      'fsync /archive/segments/PARTIAL',
      'rename /archive/segments/PARTIAL /archive/segments/aa',
      'fsync /archive/segments',
      'fsync /archive/segments/PARTIAL',
      'link /archive/segments/PARTIAL /archive/segments/bb',
      'fsync /archive/segments',
    ]);
  });
});

/** Calls of the trace and their paths below the folder. */
function stepsIn(trace: string, dir: string): readonly string[] {
  return trace
    .replaceAll(dir, '')
    .replaceAll(/\.partial-[-\w]+/g, 'PARTIAL')
    .split('\n')
    .flatMap((line) => {
      const [, call, rest = ''] = /^\d+ +(\w+)\((.*)\) += 0$/.exec(line) ?? [];
      const paths =
        call === 'fsync' ? [/<(.*)>/.exec(rest)?.[1]] : [...rest.matchAll(/"([^"]*)"/g)].map(([, path]) => path);
      return call === undefined ? [] : [[call, ...paths].join(' ')];
    });
}

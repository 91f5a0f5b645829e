// Goal: a cache returns what was stored, or nothing, and keeps its limits (F1, F2). Method: real folders, with files
// that are changed from outside, and folders that are opened again.
import { readdirSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CacheFolder } from '#components';
import { testDir } from '../../support/test-scope.ts';

const SMALL = { bytesMax: 10_000, memoryBytesMax: 0 };
/** Bytes of each file beside its name and content. */
const HEAD_BYTES = 34;

function content(of: number, length: number = 100): Uint8Array {
  return new Uint8Array(length).fill(of);
}

describe('a cache folder', () => {
  it('returns what was stored, also when it is opened again', async () => {
    const path = testDir();
    const folder = await CacheFolder.open({ path, ...SMALL });
    await folder.put('a_1', content(1));
    await folder.put('a_2', content(2));
    await folder.put('b_1', content(3));
    await folder.put('a_1', content(4));
    const again = await CacheFolder.open({ path, ...SMALL });
    for (const each of [folder, again]) {
      expect(await each.get('a_1')).toEqual(content(4));
      expect(await each.get('b_1')).toEqual(content(3));
      expect(await each.get('c_1')).toBeUndefined();
      expect(each.named('a').toSorted()).toEqual(['a_1', 'a_2']);
      expect(each.figures()).toMatchObject({ files: 3, bytes: 3 * (HEAD_BYTES + 3 + 100), damaged: 0 });
    }
  });

  it('has nothing when a file is cut or changed at any byte, or has another name (F1)', async () => {
    const path = testDir();
    const file = join(path, 'a_1');
    const folder = await CacheFolder.open({ path, ...SMALL });
    await folder.put('a_1', content(7, 20));
    const whole = readFileSync(file);
    const found: unknown[] = [];
    const readAs = async (bytes: Uint8Array): Promise<void> => {
      await folder.put('a_1', content(7, 20));
      writeFileSync(file, bytes);
      found.push(await folder.get('a_1'), folder.named('a').length);
    };
    for (let at = 0; at < whole.length; at++) {
      await readAs(whole.subarray(0, at));
      await readAs(whole.map((byte, place) => (place === at ? byte ^ 1 : byte)));
    }
    await readAs(Buffer.concat([whole, whole.subarray(0, 1)]));
    await folder.put('a_1', content(7));
    await folder.put('a_2', content(8));
    renameSync(join(path, 'a_2'), file);
    await folder.put('a_2', content(8));
    found.push(await folder.get('a_1'));
    expect(found.filter((each) => each !== undefined && each !== 0)).toEqual([]);
    expect(readdirSync(path)).toEqual(['a_2']);
  });

  it('evicts the entries that were not used for the longest time, and keeps its limits (F2)', async () => {
    const path = testDir();
    const folder = await CacheFolder.open({ path, bytesMax: 3 * (HEAD_BYTES + 3 + 100), memoryBytesMax: 150 });
    for (const n of [1, 2, 3]) await folder.put(`a_${n}`, content(n));
    expect(await folder.get('a_1')).toEqual(content(1));
    await folder.put('b_4', content(4));
    expect(folder.named('a')).toEqual(['a_3', 'a_1']);
    expect(folder.figures()).toMatchObject({ files: 3, memoryBytes: 100 });
    await folder.put('b_5', content(5, 10_000));
    expect(folder.figures()).toMatchObject({ files: 3 });
    const times: readonly (readonly [string, number])[] = [
      ['a_1', 3],
      ['a_3', 1],
      ['b_4', 2],
    ];
    for (const [name, seconds] of times) utimesSync(join(path, name), seconds, seconds);
    const smaller = await CacheFolder.open({ path, bytesMax: HEAD_BYTES + 3 + 100, memoryBytesMax: 0 });
    expect(smaller.named('a')).toEqual(['a_1']);
    expect(readdirSync(path)).toEqual(['a_1']);
  });

  it('removes incomplete files of a crash, and no files of others', async () => {
    const path = testDir();
    writeFileSync(join(path, '7.part'), 'half');
    writeFileSync(join(path, 'README'), 'of somebody');
    const folder = await CacheFolder.open({ path, ...SMALL, bytesMax: 0 });
    expect(readdirSync(path)).toEqual(['README']);
    expect(folder.figures()).toMatchObject({ files: 0, bytes: 0 });
  });

  it('continues when the disk refuses writes', async () => {
    const path = testDir();
    const folder = await CacheFolder.open({ path, ...SMALL });
    await folder.put('a_1', content(1));
    rmSync(path, { recursive: true });
    await folder.put('a_2', content(2));
    await folder.put('a_3', content(3));
    expect(await folder.get('a_1')).toBeUndefined();
    expect(folder.figures()).toMatchObject({ files: 0, refused: 2, damaged: 1 });
  });

  it('keeps entries without a file in memory while there is room', async () => {
    const path = testDir();
    let mayWrite = false;
    const folder = await CacheFolder.open({ path, ...SMALL, memoryBytesMax: 1000, mayWrite: () => mayWrite });
    await folder.put('a_1', content(1));
    expect([await folder.get('a_1'), readdirSync(path)]).toEqual([content(1), []]);
    mayWrite = true;
    rmSync(path, { recursive: true });
    await folder.put('a_2', content(2));
    expect(await folder.get('a_2')).toEqual(content(2));
    expect(folder.figures()).toMatchObject({ files: 0, bytes: 0, refused: 2 });
    await folder.drop('a_2');
    expect(await folder.get('a_2')).toBeUndefined();
  });
});

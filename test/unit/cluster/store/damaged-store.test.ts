// Goal: a LevelDB that is damaged as a whole is removed and made anew, at any damage of it, and left as it is when it
// cannot be opened for another reason (W18). Method: real directories.
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { caught, toGroupId } from '#base';
import { RowKeys } from '#database';
import { patientDisk, removeLevelFiles } from '#storage';
import { noteDamage } from '../../../../src/cluster/store/damage-note.ts';
import { type DataDirectory, openDataDirectory } from '../../../../src/cluster/store/data-directory.ts';
import { nativeRandom } from '../../../../src/cluster/system-ports.ts';
import { LEVEL_DAMAGES, storeFile } from '../../../support/level-damages.ts';
import { openedElsewhere } from '../../../support/opened-elsewhere.ts';
import { testDir } from '../../../support/test-scope.ts';

const OPTIONS = {
  store: {},
  disk: {},
  nowMs: 1_700_000_000_000,
  random: nativeRandom,
  origin: { kind: 'alone' },
} as const;
let directory = '';

const ROWS = 3000;

/** Fills two tables with rows of a database, and the log of LevelDB. */
async function fillRows(): Promise<void> {
  for (const part of [0, 1, 2]) {
    const { store } = await openDataDirectory(directory, OPTIONS);
    const batch = store.batch();
    for (let i = part; i < ROWS; i += 3) batch.put(rowKey(i), new Uint8Array(400).fill(i));
    await store.write(batch);
    if (part < 2) await store.compact(new Uint8Array(0), Uint8Array.of(0xff));
    await store.close();
  }
}

function rowKey(i: number): Uint8Array {
  return Uint8Array.of(...new RowKeys(toGroupId(1)).applied(), i >> 8, i);
}

function rowsIn({ store }: DataDirectory): number {
  return Array.from({ length: ROWS }, (_, i) => store.get(rowKey(i))).filter((row) => row !== undefined).length;
}

describe('a damaged LevelDB (W18)', () => {
  const removed: string[] = [];
  const suspected: boolean[] = [];
  const options = {
    ...OPTIONS,
    onRowsRemoved: (fault: string) => removed.push(fault),
    onSuspicion: (isSuspect: boolean) => suspected.push(isSuspect),
  };
  const note = (): string => readFileSync(join(directory, 'damage'), 'utf8');
  const history = (): string => join(directory, 'store', 'histories', '00000001', '0.segment');

  beforeEach(async () => {
    directory = testDir();
    await fillRows();
    mkdirSync(join(history(), '..'), { recursive: true });
    writeFileSync(history(), 'events');
    removed.length = 0;
    suspected.length = 0;
  });

  async function open(): Promise<number> {
    const opened = await openDataDirectory(directory, options);
    const rows = rowsIn(opened);
    await opened.store.close();
    return rows;
  }

  /** Returns what the removal says. */
  async function removal(): Promise<string> {
    const opened = await openDataDirectory(directory, options);
    expect(rowsIn(opened)).toBe(0);
    await opened.store.close();
    const [fault = ''] = removed;
    expect(opened.isSuspect).toBe(true);
    expect(suspected.at(-1)).toBe(true);
    expect(note()).toBe(`${fault}\n`);
    expect(readFileSync(history(), 'utf8')).toBe('events');
    // The next start opens the new one, and its databases are still audited.
    expect([await open(), removed.length, suspected.at(-1)]).toEqual([0, 1, true]);
    opened.clearSuspicion();
    expect([await open(), suspected.at(-1)]).toEqual([0, false]);
    return fault;
  }

  it.each(LEVEL_DAMAGES)('is removed, with its logs, and created again when $what', async ({ damage, says }) => {
    damage(join(directory, 'store'));
    expect(await removal()).toMatch(says);
  });

  it('is removed after a process noted it', async () => {
    noteDamage(directory, { text: 'a table cannot be read', groups: [], isOfStore: true });
    expect(await removal()).toBe('a table cannot be read');
  });

  it('is removed completely after a crash at any moment of the removal', async () => {
    const copy = join(testDir(), 'data');
    cpSync(directory, copy, { recursive: true });
    const store = join(directory, 'store');
    let calls = 0;
    for (let isDone = false; !isDone; calls++) {
      rmSync(directory, { recursive: true });
      cpSync(copy, directory, { recursive: true });
      let left = calls;
      const counted = <Rest extends readonly unknown[]>(work: (...rest: Rest) => void) => {
        return (...rest: Rest): void => {
          if (left === 0) throw new Error('crash');
          left -= 1;
          work(...rest);
        };
      };
      const remove = counted((path: string) => patientDisk.remove(path));
      const syncDirectory = counted((path: string) => patientDisk.syncDirectory(path));
      // Logs first: LevelDB opens without them.
      const list = (path: string): readonly string[] =>
        patientDisk.list(path).toSorted((one, other) => Number(other.endsWith('.log')) - Number(one.endsWith('.log')));
      isDone = caught(
        () => {
          removeLevelFiles(store, { list, remove, syncDirectory });
          return true;
        },
        () => false,
      );
      expect([calls, await open()]).toEqual([calls, calls === 0 ? ROWS : 0]);
      expect(readFileSync(history(), 'utf8')).toBe('events');
    }
    // CURRENT, MANIFEST, log, two tables at least, and two syncs.
    expect(calls).toBeGreaterThan(6);
  });

  it('is left as it is while another process has it open', async () => {
    const opened = await openDataDirectory(directory, OPTIONS);
    const files = readdirSync(opened.storeDirectory);
    noteDamage(directory, { text: 'a table cannot be read', groups: [], isOfStore: true });
    expect(openedElsewhere(directory)).toMatch(/^DataDirectoryInUse /);
    expect(readdirSync(opened.storeDirectory)).toEqual(files);
    expect(rowsIn(opened)).toBe(ROWS);
    await opened.store.close();
  });

  it('is left as it is when LevelDB fails otherwise', async () => {
    // LevelDB names CURRENT so before it has its name.
    const obstacles = Array.from({ length: 60 }, (_, number) => {
      return join(directory, 'store', `${String(number).padStart(6, '0')}.dbtmp`);
    });
    for (const path of obstacles) mkdirSync(path);
    const says = /could not be opened.*IO error: .*\.dbtmp: Is a directory/;
    await expect(openDataDirectory(directory, options)).rejects.toThrow(says);
    expect([removed, existsSync(join(directory, 'damage'))]).toEqual([[], false]);
    for (const path of obstacles) rmSync(path, { recursive: true });
    expect(await open()).toBe(ROWS);
  });

  it('is left as it is when a table cannot be read', async () => {
    const table = storeFile(join(directory, 'store'), /\.ldb$/);
    renameSync(table, join(directory, 'table'));
    symlinkSync(basename(table), table);
    await expect(openDataDirectory(directory, options)).rejects.toThrow('cannot be read: ELOOP');
    expect([removed, existsSync(join(directory, 'damage'))]).toEqual([[], false]);
    rmSync(table);
    renameSync(join(directory, 'table'), table);
    expect(await open()).toBe(ROWS);
  });

  it('is left as it is without a ledger, and the directory is rejected', async () => {
    rmSync(join(directory, 'ledger'));
    rmSync(storeFile(join(directory, 'store'), /\.ldb$/));
    await expect(openDataDirectory(directory, options)).rejects.toThrow(/could not be opened.*Corruption: /);
    expect(existsSync(storeFile(join(directory, 'store'), /\.ldb$/))).toBe(true);
    expect(removed).toEqual([]);
  });
});

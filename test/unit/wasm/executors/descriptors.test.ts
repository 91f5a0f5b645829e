// Goal: the process of a guest has no file of the node open (ADR 0087). Method: a database of LevelDB, which opens its
// files without close-on-exec, and the open files of an executor according to the kernel.
import { mkdtempSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClassicLevel } from 'classic-level';
import { expect, it } from 'vitest';
import { artifactOf, executors, foldOf } from '../../../support/wasm/executors.ts';
import { guestText } from '../../../support/wasm/guests.ts';

it('an executor has no file of the node open', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'descriptors-'));
  const level = new ClassicLevel(folder);
  await level.open();
  await level.put('a', 'b');
  expect(filesOf(process.pid).filter((file) => file.startsWith(folder))).not.toEqual([]);
  await executors().fold(foldOf(await artifactOf(guestText('unreachable')), [Uint8Array.of(1)]));
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isExecutorOfOurs(name));
  expect(pids).not.toEqual([]);
  expect(pids.flatMap(filesOf).filter((file) => file.startsWith('/') && !file.startsWith('/dev/'))).toEqual([]);
  await level.close();
});

function isExecutorOfOurs(pid: string): boolean {
  try {
    const isExecutor = readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('executor-worker');
    return isExecutor && readFileSync(`/proc/${pid}/status`, 'utf8').includes(`PPid:\t${process.pid}\n`);
  } catch {
    return false;
  }
}

function filesOf(pid: number | string): readonly string[] {
  return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${fd}`)];
    } catch {
      return [];
    }
  });
}

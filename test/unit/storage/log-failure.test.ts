// Goal: when a sync fails in a real process, the process ends with exit code 70, nothing that it acknowledged is lost,
// and the next process goes on from there (W7, W10, W14). The same when it is killed. Method: a child process that says
// what was acknowledged, under strace, which makes the n-th fdatasync of each of its threads fail; then the log that it
// left is opened here.

import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { toGroupId } from '#base';
import { Wal } from '#storage';
import { lacksTool } from '../../support/needed-tools.ts';
import { endWithTest, testDir } from '../../support/test-scope.ts';

const CHILD = resolve(import.meta.dirname, '../../support/log-child.ts');
const IDENTITY = { clusterId: new Uint8Array(16).fill(1), storeId: new Uint8Array(16).fill(2) };
const PAYLOAD_BYTES = 900;

interface ChildEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The index up to which entries were acknowledged. */
  readonly acknowledged: number;
  readonly stderr: string;
}

describe.skipIf(lacksTool('strace'))('a process whose fdatasync fails', () => {
  it.each([
    { error: 'EIO', when: 6 },
    { error: 'ENOSPC', when: 31 },
  ])(
    'with $error at call $when ends with 70 and has lost nothing (W7, W10)',
    { timeout: 120_000 },
    async ({ error, when }) => {
      const directory = testDir();
      const fault = `inject=fdatasync:error=${error}:when=${when}`;
      const options = ['--follow-forks', '--quiet=all', '--output=/dev/null', '-e', 'trace=fdatasync', '-e', fault];
      const end = await runChild(['strace', ...options, process.execPath], directory, 400);
      expect(end).toMatchObject({ code: 70, stderr: expect.stringMatching(/could not be written|no space left/) });
      await expectGoesOn(directory, end.acknowledged);
    },
  );
});

describe('a process that is killed', () => {
  it('has lost nothing that it acknowledged, three times in a row (W10)', { timeout: 120_000 }, async () => {
    const directory = testDir();
    let acknowledged = 0;
    for (let round = 0; round < 3; round++) {
      const end = await runChild([process.execPath], directory, 100_000, acknowledged + 20 + 37 * round);
      expect(end.signal).toBe('SIGKILL');
      expect(end.acknowledged).toBeGreaterThan(acknowledged);
      acknowledged = end.acknowledged;
      expect((await held(directory)).last).toBeGreaterThanOrEqual(acknowledged);
    }
    await expectGoesOn(directory, acknowledged);
  });
});

/** What the log holds now is at least what was acknowledged, every byte of it, and the next process can go on. */
async function expectGoesOn(directory: string, acknowledged: number): Promise<void> {
  const before = await held(directory);
  expect(before.last).toBeGreaterThanOrEqual(acknowledged);
  const end = await runChild([process.execPath], directory, 20);
  expect(end).toMatchObject({ code: 0, acknowledged: before.last + 20, stderr: '' });
  expect((await held(directory)).last).toBe(before.last + 20);
}

async function held(directory: string): Promise<{ readonly last: number }> {
  const { wal, recovered } = Wal.open(`${directory}/wal`, { identity: IDENTITY, segmentBytes: 64 * 1024 });
  await wal.close();
  const group = recovered.groups.get(toGroupId(1));
  const entries = group?.entries ?? [];
  const wrong = entries.filter(
    ({ index, payload }) => payload.length !== PAYLOAD_BYTES || payload.some((byte) => byte !== index % 251),
  );
  expect(wrong).toEqual([]);
  return { last: entries.at(-1)?.index ?? group?.checkpoint.index ?? 0 };
}

/** Runs the child, and kills it when it has acknowledged `killAt`. */
async function runChild(
  command: readonly string[],
  directory: string,
  count: number,
  killAt = Infinity,
): Promise<ChildEnd> {
  const [program = '', ...options] = command;
  const args = [...options, '--conditions=source', CHILD, `${directory}/wal`, String(count), String(PAYLOAD_BYTES)];
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  endWithTest(child);
  let stdout = '';
  let stderr = '';
  const acknowledged = (): number => Number(stdout.slice(0, stdout.lastIndexOf('\n')).split('\n').at(-1) ?? 0);
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    if (acknowledged() >= killAt) child.kill('SIGKILL');
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  return new Promise((settle, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => settle({ code, signal, acknowledged: acknowledged(), stderr }));
  });
}

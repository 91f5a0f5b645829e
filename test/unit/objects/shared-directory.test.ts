// Goal: processes that archive one database in a directory at once, beside retention, make one archive without a gap,
// which can be restored at any moment (X1, X3, X7). Method: two real processes, and the command of an operator all the
// time.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openArchive } from '#archive';
import { DirectoryStore } from '#objects';
import { backupCommand } from '../../../src/main/commands/backup/backup-command.ts';
import { DATABASE, longHistory, newHash } from '../../support/archive/archived-history.ts';
import { restored } from '../../support/archive/restored.ts';
import { endWithTest, testDir } from '../../support/test-scope.ts';

const CHILD = join(import.meta.dirname, '../../support/archive/archive-directory-child.ts');

interface Archiving {
  readonly begin: () => void;
  /** Output to stderr, and the exit code. */
  readonly ended: Promise<string>;
}

/** Resolves when the process waits. */
async function archiving(directory: string, writer: string): Promise<Archiving> {
  const args = ['--conditions=source', '--disable-warning=ExperimentalWarning', CHILD, directory, writer];
  const child = spawn(process.execPath, args, { stdio: 'pipe' });
  endWithTest(child);
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
  const ended = new Promise<string>((resolve) => child.once('close', (code) => resolve(`${output}${code}`)));
  await Promise.race([once(child.stdout, 'data'), ended]);
  return { begin: () => child.stdin.end('begin'), ended };
}

interface Written {
  readonly number: number;
  readonly writer: string;
  readonly basis: { readonly number: number; readonly hash: string } | null;
}

/** Writers of the manifests that are left. @throws Error when one continues another than the one before it */
function writersIn(directory: string): readonly string[] {
  const folder = join(directory, 'databases', DATABASE.id, 'manifests');
  const hashes = new Map<number, string>();
  return readdirSync(folder)
    .toSorted()
    .map((name) => {
      const text = readFileSync(join(folder, name), 'utf8');
      const { number, writer, basis } = JSON.parse(text.split('\n')[0] ?? '') as Written;
      hashes.set(number, createHash('sha256').update(text).digest('hex'));
      const before = hashes.get(number - 1) ?? basis?.hash;
      if (basis?.number !== number - 1 || basis.hash !== before) throw new Error(`manifest ${number} was replaced`);
      return writer;
    });
}

async function prune(directory: string): Promise<string> {
  let err = '';
  const ports = { out: () => undefined, err: (text: string) => void (err += text), environment: {} };
  return `${await backupCommand(['prune', '--from', directory, '--ttl', '0s'], ports)}${err}`;
}

it('two processes archive in one directory while it is pruned', async () => {
  const directory = testDir();
  const store = new DirectoryStore(directory);
  const { bytes } = longHistory();
  const archivers = await Promise.all(['one', 'two'].map((writer) => archiving(directory, writer)));
  const state = { isDone: false };
  const ended = Promise.all(archivers.map((each) => each.ended)).finally(() => (state.isDone = true));
  for (const { begin } of archivers) begin();
  while (!state.isDone) {
    const { newest } = await openArchive({ store, newHash }, DATABASE.id);
    if (newest === undefined) continue;
    expect(await prune(directory)).toBe('0');
    const found = await restored(store, {});
    expect(Buffer.compare(found, bytes.subarray(0, found.length))).toBe(0);
  }
  expect(await ended).toEqual(['0', '0']);
  expect(await prune(directory)).toBe('0');
  expect(Buffer.compare(await restored(store, {}), bytes)).toBe(0);
  const { last } = await openArchive({ store, newHash }, DATABASE.id);
  expect(last).toBeGreaterThan(64);
  const writers = writersIn(directory);
  expect(writers.length).toBeLessThan(last);
  expect(new Set(writers)).toEqual(new Set(['one', 'two']));
});

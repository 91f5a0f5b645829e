/**
 * npm run chaos: real nodes, real faults, and a verdict over everything that clients were told.
 *
 *   npm run chaos -- [--minutes 3] [--nodes 3] [--seed N] [--quiet] [--calm] [--keep]
 *   npm run chaos -- --kills 200 [--writers 16] [--seed 1]
 *
 * The first is a cluster, and all that can happen to it; with --calm nothing does, and with --keep the logs stay. The
 * second is one node that is killed again and again.
 */
import { randomInt } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readNumber, readOptions, refuse } from '../scripts/support/command-line.ts';
import { setup } from '../test/support/build-product.ts';
import { isInside, runInside, whyNoWorld } from './cluster/namespaces.ts';
import { runCluster } from './cluster/run.ts';
import { killAgainAndAgain } from './kill-nine.ts';
import { PRODUCT_VARIABLE } from './support/product.ts';

const FAKE_TIME = '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1';
const SEEDS = 1_000_000;
const NODES_MIN = 3;

const values = readOptions(
  {
    minutes: undefined,
    nodes: undefined,
    seed: undefined,
    kills: undefined,
    writers: undefined,
    quiet: undefined,
    calm: undefined,
    keep: undefined,
  },
  ['quiet', 'calm', 'keep'],
);
const isForOne = values.kills !== undefined || values.writers !== undefined;
if (isForOne && (values.minutes !== undefined || values.nodes !== undefined)) {
  refuse('--kills and --writers are for one node, --minutes and --nodes for a cluster: they do not go together');
}
const kills = readNumber('kills', values.kills ?? '200', { min: 1, isWhole: true });
const writers = readNumber('writers', values.writers ?? '16', { min: 1, isWhole: true });
const minutes = readNumber('minutes', values.minutes ?? '3', { min: 0.1, isWhole: false });
const nodes = readNumber('nodes', values.nodes ?? '3', { min: NODES_MIN, isWhole: true });
const seed = readNumber('seed', values.seed ?? String(randomInt(SEEDS)), { min: 0, isWhole: true });
if (isForOne) await killAgainAndAgain({ kills, writers, seed });
else if (isInside()) await cluster();
else await outside();

async function outside(): Promise<void> {
  const reason = whyNoWorld();
  if (reason !== undefined) refuse(`Chaos on a cluster needs namespaces of users, mounts and networks: ${reason}`);
  const end = process.env[PRODUCT_VARIABLE] === undefined ? setup() : (): void => undefined;
  const args = [...process.argv.slice(2), ...(values.seed === undefined ? ['--seed', String(seed)] : [])];
  process.exitCode = await runInside(import.meta.filename, args).finally(end);
}

async function cluster(): Promise<void> {
  // The first process of a namespace is not ended by a signal that it does not ask for.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));
  const dir = mkdtempSync(join(tmpdir(), `cairn-chaos-${seed}-`));
  const fakeTime = existsSync(FAKE_TIME) ? FAKE_TIME : undefined;
  const clocks = fakeTime === undefined ? 'left alone: the Debian package libfaketime is missing' : 'set';
  say(`seed ${seed}: ${nodes} nodes for ${minutes} minutes; clocks are ${clocks}`);
  const report = values.quiet === undefined ? say : (): void => undefined;
  const hasFaults = values.calm === undefined;
  const verdict = await runCluster({ seed, nodes, minutes, hasFaults, fakeTime, dir, report });
  process.stdout.write(`${JSON.stringify({ seed, nodes, ...verdict })}\n`);
  const isKept = verdict.problems.length > 0 || values.keep !== undefined;
  if (!isKept) rmSync(dir, { recursive: true, force: true });
  else say(`${verdict.problems.length} problems; logs and histories are in ${dir}`);
  process.exit(verdict.problems.length === 0 ? 0 : 1);
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

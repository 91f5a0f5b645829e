/**
 * The command `npm run chaos`: injects faults into real nodes and checks all answers to clients.
 *
 *   npm run chaos -- [--minutes 3] [--nodes 3] [--seed N] [--world namespaces|loopback] [--quiet] [--calm] [--keep]
 *                    [--before ../earlier]
 *   npm run chaos -- --kills 200 [--writers 16] [--seed 1]
 *
 * The first form runs a cluster with all faults, or without faults with --calm; --keep keeps the logs. It runs in its
 * own namespaces, or on loopback behind proxies where namespaces are not allowed. With --before, the path of a built
 * checkout of an earlier release, every second process of a node runs that release. The second form kills a single node
 * again and again.
 */
import { randomInt } from 'node:crypto';
import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { readNumber, readOptions, refuse } from '../scripts/support/command-line.ts';
import { setup } from '../test/support/build-product.ts';
import { endAll, killAll } from './cluster/member.ts';
import { findFakeTime } from './cluster/missing.ts';
import { dirInside, runInside, whyNoWorld } from './cluster/namespaces.ts';
import { HISTORY, runCluster } from './cluster/run.ts';
import { WORLDS, type WorldKind } from './cluster/world.ts';
import { killAgainAndAgain } from './kill-nine.ts';
import { removeDirectory } from './support/remove-directory.ts';

const SEEDS = 1_000_000;
const NODES_MIN = 3;

const values = readOptions(
  {
    minutes: undefined,
    nodes: undefined,
    seed: undefined,
    kills: undefined,
    writers: undefined,
    world: undefined,
    quiet: undefined,
    calm: undefined,
    keep: undefined,
    before: undefined,
  },
  ['quiet', 'calm', 'keep'],
);
const isForOne = values.kills !== undefined || values.writers !== undefined;
if (isForOne && [values.minutes, values.nodes, values.world, values.before].some((value) => value !== undefined)) {
  refuse('--kills and --writers are for one node, --minutes, --nodes, --world and --before for a cluster: not both');
}
const kills = readNumber('kills', values.kills ?? '200', { min: 1, isWhole: true });
const writers = readNumber('writers', values.writers ?? '16', { min: 1, isWhole: true });
const minutes = readNumber('minutes', values.minutes ?? '3', { min: 0.1, isWhole: false });
const nodes = readNumber('nodes', values.nodes ?? '3', { min: NODES_MIN, isWhole: true });
const before = values.before === undefined ? undefined : builtIn(values.before);
const seed = readNumber('seed', values.seed ?? String(randomInt(SEEDS)), { min: 0, isWhole: true });
const inside = dirInside();
if (isForOne) await one();
else if (inside !== undefined) await cluster('namespaces', inside);
else await outside();

/** Entry of the bundle that was built in a checkout. */
function builtIn(checkout: string): string {
  const entry = resolve(checkout, 'dist/main.js');
  if (!existsSync(entry)) refuse(`--before takes a checkout that was built, and there is no ${entry}: npm run build`);
  return entry;
}

async function one(): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  process.on('exit', setup());
  await killAgainAndAgain({ kills, writers, seed });
}

async function outside(): Promise<void> {
  const kind = values.world ?? 'auto';
  if (kind !== 'auto' && !isWorld(kind)) refuse(`--world takes ${WORLDS.join(' or ')}, not ${JSON.stringify(kind)}`);
  const reason = kind === 'loopback' ? undefined : whyNoWorld();
  if (kind === 'namespaces' && reason !== undefined) refuse(`There are no namespaces here: ${reason}`);
  if (reason !== undefined) say(`the nodes are on loopback: there are no namespaces here (${reason})`);
  const end = setup();
  if (kind === 'loopback' || reason !== undefined) {
    process.on('exit', end);
    return cluster('loopback', makeDir());
  }
  const args = [...process.argv.slice(2), ...(values.seed === undefined ? ['--seed', String(seed)] : [])];
  const dir = makeDir();
  const code = await runInside(import.meta.filename, args, dir).finally(end);
  if (code === undefined) clear(dir);
  process.exitCode = code ?? 1;
}

function makeDir(): string {
  return mkdtempSync(join(tmpdir(), `cairn-chaos-${seed}-`));
}

/** An interrupted run leaves nothing, unless it has found a problem already. */
function clear(dir: string): void {
  if (values.keep !== undefined || existsSync(join(dir, HISTORY))) return say(`logs are in ${dir}`);
  removeDirectory(dir);
}

function isWorld(text: string): text is WorldKind {
  return WORLDS.some((world) => world === text);
}

async function cluster(world: WorldKind, dir: string): Promise<void> {
  // The first process of a namespace ignores signals without a handler.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      killAll();
      clear(dir);
      process.exit(1);
    });
  }
  const fakeTime = findFakeTime();
  say(`seed ${seed}: ${nodes} nodes for ${minutes} minutes, ${world === 'loopback' ? 'on loopback' : 'in namespaces'}`);
  const report = values.quiet === undefined ? say : (): void => undefined;
  const hasFaults = values.calm === undefined;
  const verdict = await runCluster({ seed, nodes, minutes, hasFaults, world, fakeTime, before, dir, report });
  process.stdout.write(`${JSON.stringify({ seed, nodes, ...verdict })}\n`);
  const isKept = verdict.problems.length > 0 || values.keep !== undefined;
  await endAll();
  if (!isKept) removeDirectory(dir);
  else say(`${verdict.problems.length} problems; logs and histories are in ${dir}`);
  process.exit(verdict.problems.length === 0 ? 0 : 1);
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

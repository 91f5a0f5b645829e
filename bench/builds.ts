/**
 * Compares builds of the server, or one build with different options, in alternating runs: appends, reads, starts,
 * contention, memory.
 *
 *   node --conditions=source bench/builds.ts [--loads 64x1,16x100] [--rounds 5] [--seconds 2] [--warm-up 4] \
 *     old=../old new=. 'large=. --max-semi-space-size=64 MALLOC_ARENA_MAX=2'
 *   node --conditions=source bench/builds.ts --measure start [--rounds 9] [--settle 5] [--events 0] old=../old new=.
 *   node --conditions=source bench/builds.ts --measure read [--events 1000000] [--rounds 5] [--seconds 2] \
 *     [--loads selector-1,selector-16,selector-16-far,scan,scan-batches] [--warm-up 4] [--load-each] old=../old new=.
 *   node --conditions=source bench/builds.ts --measure cluster [--loads 64x1,16x100] [--rounds 5] [--seconds 2] \
 *     [--warm-up 4] old=../old new=.
 *   node --conditions=source bench/builds.ts --measure conflict [--rounds 5] [--seconds 2] [--warm-up 4] \
 *     old=../old new=.
 *   node --conditions=source bench/builds.ts --measure memory [--events 1000000] [--rounds 5] [--seconds 2] \
 *     [--settle 5] old=../old new=.
 *
 * A contender consists of a name, the checkout with its build (npm run build), and optionally Node.js options and
 * environment variables.
 *
 *   append    A table for each load (callers x events), with the CPU time per event by thread (front: the main thread;
 *             V8Worker: garbage collection and compilation; libuv-worker: LevelDB's batches), and the memory of each.
 *   cluster   The same for three nodes of each build, with the leader apart from the other nodes.
 *   read      The same for reads of `--events` events; with `far`, consecutive reads find theirs in different pages.
 *             One build loads the events for all; with --load-each, each build loads its own, for different formats.
 *   start     Starts and stops each build repeatedly with `--events` events: the cost of a start, and the memory after
 *             `--settle` idle seconds.
 *   conflict  The workload conflict-heavy: a table, and the share of commits that contention costs.
 *   memory    Loads `--events` events into a new node in each round and reads them: the cost, and the memory after it.
 */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { readNumber, refuse } from '../scripts/support/command-line.ts';
import { Arena } from './arena.ts';
import type { Build, CairnNode } from './peers/cairn.ts';
import { residentMemory } from './support/process-cpu.ts';
import { table } from './support/results.ts';
import { compete, type Plan, type Workload } from './support/sample.ts';
import { threadTimed } from './support/thread-times.ts';
import { type AppendLoad, nodeAppend } from './workloads/append.ts';
import { competeByClusters } from './workloads/cluster-builds.ts';
import { conflictOfBuilds } from './workloads/conflict-heavy.ts';
import {
  type BuildContender,
  competeByMemory,
  competeByReads,
  READ_LOADS,
  type ReadLoad,
} from './workloads/loaded-builds.ts';
import { competeByStarts } from './workloads/start.ts';

const EVENT_BYTES = 256;
const MEASURES = ['append', 'cluster', 'read', 'start', 'memory', 'conflict'] as const;
const APPEND_LOADS = '64x1,16x100';
const EVENTS_LOADED = 1_000_000;

const { values, positionals } = readCommandLine();
const rounds = readNumber('rounds', values.rounds, { min: 1, isWhole: true });
const seconds = readNumber('seconds', values.seconds, { min: 0.1, isWhole: false });
const warmUpSeconds = readNumber('warm-up', values['warm-up'], { min: 0, isWhole: false });
const settleSeconds = readNumber('settle', values.settle, { min: 0, isWhole: false });
const events = values.events === undefined ? undefined : readNumber('events', values.events, { min: 0, isWhole: true });
const measure = MEASURES.find((name) => name === values.measure);
if (measure === undefined) refuse(`--measure ${JSON.stringify(values.measure)} is none of ${MEASURES.join(', ')}`);
const plan: Plan = { rounds, seconds, warmUpSeconds, limitSeconds: 600 };
const contenders = positionals.map(contender);
if (contenders.length === 0) refuse('there is nothing to compare; name builds, such as old=../old new=.');
const readLoads = measure === 'read' ? (values.loads?.split(',') ?? READ_LOADS).map(readLoad) : [];

await using arena = new Arena();
if (measure === 'append') await competeByAppends(values.loads ?? APPEND_LOADS);
else if (measure === 'cluster') await competeByClusterAppends(values.loads ?? APPEND_LOADS);
else if (measure === 'conflict') await competeByConflicts();
else process.stdout.write(`${await competed(measure)}\n`);

function competed(by: Exclude<(typeof MEASURES)[number], 'append' | 'cluster' | 'conflict'>): Promise<string> {
  if (by === 'start') return competeByStarts(arena, contenders, { rounds, settleSeconds, events: events ?? 0 });
  const loaded = events ?? EVENTS_LOADED;
  if (by === 'memory') return competeByMemory(arena, contenders, { rounds, events: loaded, seconds, settleSeconds });
  return competeByReads(arena, contenders, { plan, events: loaded, loads: readLoads, loadsEach: values['load-each'] });
}

function readLoad(text: string): ReadLoad {
  const load = READ_LOADS.find((name) => name === text);
  return load ?? refuse(`--loads ${JSON.stringify(text)} is none of ${READ_LOADS.join(', ')}`);
}

async function competeByAppends(loads: string): Promise<void> {
  const nodes: { readonly name: string; readonly node: CairnNode }[] = [];
  // Nodes start one after another, so that no other start disturbs the measurement of a start.
  for (const { name, build } of contenders) nodes.push({ name, node: await arena.cairn(name, build) });
  for (const load of loads.split(',')) {
    const workload = appends(load, nodes);
    process.stdout.write(`${table(workload, await compete(workload, plan))}\n`);
  }
  for (const { name, node } of nodes) {
    process.stdout.write(`${name}: ${(residentMemory(node.pid).total / 2 ** 20).toFixed(0)} MiB resident\n`);
  }
}

async function competeByClusterAppends(loads: string): Promise<void> {
  for (const name of loads.split(',')) {
    process.stdout.write(`${await competeByClusters(arena, contenders, { plan, load: appendLoad(name) })}\n`);
  }
}

async function competeByConflicts(): Promise<void> {
  const workload = conflictOfBuilds(arena, contenders);
  process.stdout.write(`${table(workload, await compete(workload, plan))}\n`);
}

/** Parses the name of a load, callers x events. */
function appendLoad(name: string): AppendLoad {
  const [clients = 1, perTransaction = 1] = name.split('x').map(Number);
  const what = `Conditional transactions of ${perTransaction} events.`;
  return { name, what, clients, events: perTransaction, eventBytes: EVENT_BYTES };
}

function appends(name: string, nodes: readonly { readonly name: string; readonly node: CairnNode }[]): Workload {
  const load = appendLoad(name);
  const entered = nodes.map(({ name: peer, node }) => ({
    peer,
    directory: node.directory,
    open: async () => threadTimed(node.pid, await nodeAppend(arena, node, { ...load, conditional: true })),
  }));
  return { ...load, unit: 'events', contenders: entered };
}

function contender(text: string): BuildContender {
  const [name = '', rest = ''] = text.split(/=(.*)/s);
  const [root = '.', ...words] = rest.split(' ').filter(Boolean);
  const variables = words.filter((word) => !word.startsWith('--')).map((word) => word.split('='));
  const build: Build = {
    root: resolve(root),
    nodeOptions: words.filter((word) => word.startsWith('--')),
    env: Object.fromEntries(variables),
  };
  return { name, build };
}

function readCommandLine() {
  const text = (value: string): { readonly type: 'string'; readonly default: string } => ({
    type: 'string',
    default: value,
  });
  const options = {
    measure: text('append'),
    loads: { type: 'string' },
    rounds: text('5'),
    seconds: text('2'),
    'warm-up': text('4'),
    settle: text('5'),
    events: { type: 'string' },
    'load-each': { type: 'boolean', default: false },
  } as const;
  try {
    return parseArgs({ allowPositionals: true, options });
  } catch (error) {
    // parseArgs throws this type for an invalid command line.
    if (error instanceof TypeError) return refuse(error.message);
    throw error;
  }
}

/** Compares builds on databases with many events: the cost of reads, and the memory after loading and reading. */
import { cpSync, readFileSync, rmSync } from 'node:fs';
import { loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { Arena } from '../arena.ts';
import { type Build, SCAN_LOG, SCAN_LOG_BATCHES, startCairn } from '../peers/cairn.ts';
import { diskWrittenBytes, type ResidentMemory, residentMemory } from '../support/process-cpu.ts';
import { spread, table } from '../support/results.ts';
import { compete, type Plan, type Sample, type Turns } from '../support/sample.ts';
import { threadTimed } from '../support/thread-times.ts';
import { type LoadedNode, loadEvents, loadedNode, scans, selectorReads } from './read.ts';
import { settled } from './scale.ts';

export interface BuildContender {
  readonly name: string;
  readonly build: Build;
}

/** Names of the loads of `competeByReads`. */
export const READ_LOADS = ['selector-1', 'selector-16', 'selector-16-far', 'scan', 'scan-batches'] as const;
export type ReadLoad = (typeof READ_LOADS)[number];

const READERS = 16;
const TURNS: Readonly<Record<ReadLoad, (loaded: LoadedNode) => Turns>> = {
  'selector-1': (loaded) => selectorReads(loaded, 1),
  'selector-16': (loaded) => selectorReads(loaded, READERS),
  'selector-16-far': (loaded) => selectorReads(loaded, READERS, 'far'),
  scan: (loaded) => scans(loaded, SCAN_LOG),
  'scan-batches': (loaded) => scans(loaded, SCAN_LOG_BATCHES),
};
const ONE_SCAN = { unit: 'events', clients: 1 };
const SHAPES: Readonly<Record<ReadLoad, { readonly unit: string; readonly clients: number }>> = {
  'selector-1': { unit: 'reads', clients: 1 },
  'selector-16': { unit: 'reads', clients: READERS },
  'selector-16-far': { unit: 'reads', clients: READERS },
  scan: ONE_SCAN,
  'scan-batches': ONE_SCAN,
};

export interface ReadPlan {
  readonly plan: Plan;
  readonly events: number;
  readonly loads: readonly ReadLoad[];
  /** True when each build loads the events itself. */
  readonly loadsEach: boolean;
}

export interface MemoryPlan {
  readonly rounds: number;
  readonly events: number;
  /** Duration of the reads by subject, by 16 callers. */
  readonly seconds: number;
  /** Idle time before the last measurement of memory. */
  readonly settleSeconds: number;
}

interface MemorySample {
  readonly load: Sample;
  /** Written bytes after a rest. */
  readonly written: number;
  /** Memory after loading, after a scan, after reads by subject, and after a rest. */
  readonly loaded: ResidentMemory;
  readonly scanned: ResidentMemory;
  /** Resident bytes of mapped tables after the scan. */
  readonly tablesMapped: number;
  readonly read: ResidentMemory;
  readonly rested: ResidentMemory;
}

const MIB = 2 ** 20;
const EVENT_BYTES = 256;

/** Loads the events with the first build and copies them for all others. */
export async function copyEvents(arena: Arena, contenders: readonly BuildContender[], events: number): Promise<void> {
  const [first] = contenders;
  if (events === 0 || first === undefined) return;
  const loaded = await loadedNode(arena, events, first.build);
  await settled(loaded.node);
  await loaded.node.stop();
  const { directory } = loaded.node;
  for (const { name } of contenders) cpSync(directory, arena.at(name), { recursive: true });
  rmSync(directory, { recursive: true });
}

/** Loads the events with each build, because one build may not read the format of another. */
async function loadEach(arena: Arena, contenders: readonly BuildContender[], events: number): Promise<void> {
  for (const { name, build } of contenders) {
    const node = await startCairn(arena.at(name), build);
    await loadEvents(node, events);
    await settled(node);
    await node.stop();
  }
}

/** Markdown tables of reads, each with the CPU time by thread, followed by the memory of each build. */
export async function competeByReads(
  arena: Arena,
  contenders: readonly BuildContender[],
  { plan, events, loads, loadsEach }: ReadPlan,
): Promise<string> {
  await (loadsEach ? loadEach : copyEvents)(arena, contenders, events);
  const nodes: { readonly name: string; readonly loaded: LoadedNode }[] = [];
  for (const { name, build } of contenders)
    nodes.push({ name, loaded: { node: await arena.cairn(name, build), events } });
  const texts: string[] = [];
  for (const load of loads) {
    const entered = nodes.map(({ name, loaded }) => ({
      peer: name,
      directory: arena.at(name),
      open: async () => threadTimed(loaded.node.pid, TURNS[load](loaded)),
    }));
    const { unit, clients } = SHAPES[load];
    const what = `The load ${load} of ${events} events.`;
    const workload = { name: load, what, unit, clients, eventBytes: EVENT_BYTES, contenders: entered };
    texts.push(table(workload, await compete(workload, plan)));
  }
  for (const { name, loaded } of nodes) texts.push(`${name}: ${inMebibytes(residentMemory(loaded.node.pid).total)}`);
  return texts.join('\n');
}

/** A Markdown table of medians (min to max) over the rounds; each round loads a new node. */
export async function competeByMemory(
  arena: Arena,
  contenders: readonly BuildContender[],
  plan: MemoryPlan,
): Promise<string> {
  const series = contenders.map((contender) => ({ contender, samples: new Array<MemorySample>() }));
  for (let round = 0; round < plan.rounds; round++) {
    for (const { contender, samples } of series) samples.push(await loadOnce(arena, contender, plan));
  }
  const column = (samples: readonly MemorySample[], of: (sample: MemorySample) => number, digits: number): string =>
    spread(samples.map(of), (value) => value.toFixed(digits));
  return [
    '### memory',
    '',
    `${plan.rounds} times each, in turn: MiB resident after loading ${plan.events} events, scanning them, reading them by their subjects for ${plan.seconds} s, and resting for ${plan.settleSeconds} s; load average ${loadavg()[0]?.toFixed(1)}.`,
    '',
    '| build | loaded | scanned | of it tables | read | rested | of it anonymous | mapped files | server µs an event loaded | events/s | written B an event |',
    '| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |',
    ...series.map(({ contender: { name }, samples }) => {
      const cells = [
        column(samples, ({ loaded }) => loaded.total / MIB, 0),
        column(samples, ({ scanned }) => scanned.total / MIB, 0),
        column(samples, ({ tablesMapped }) => tablesMapped / MIB, 0),
        column(samples, ({ read }) => read.total / MIB, 0),
        column(samples, ({ rested }) => rested.total / MIB, 0),
        column(samples, ({ rested }) => rested.anonymous / MIB, 0),
        column(samples, ({ rested }) => rested.files / MIB, 0),
        column(samples, ({ load }) => (load.serverCpuSeconds / load.operations) * 1e6, 1),
        column(samples, ({ load }) => load.operations / load.seconds, 0),
        column(samples, ({ load, written }) => written / load.operations, 0),
      ];
      return `| ${[name, ...cells].join(' | ')} |`;
    }),
    '',
  ].join('\n');
}

async function loadOnce(arena: Arena, { name, build }: BuildContender, plan: MemoryPlan): Promise<MemorySample> {
  const directory = arena.at(`memory-${name}`);
  const node = await startCairn(directory, build);
  try {
    const before = diskWrittenBytes(directory);
    const load = await loadEvents(node, plan.events);
    const known = { node, events: plan.events };
    const loaded = residentMemory(node.pid);
    for (const path of [SCAN_LOG, SCAN_LOG_BATCHES]) await scans(known, path).run(0);
    const scanned = residentMemory(node.pid);
    const tablesMapped = residentTables(node.pid);
    await selectorReads(known, READERS).run(plan.seconds);
    const read = residentMemory(node.pid);
    await delay(plan.settleSeconds * 1000);
    const rested = residentMemory(node.pid);
    return { load, written: diskWrittenBytes(directory) - before, loaded, scanned, tablesMapped, read, rested };
  } finally {
    await node.stop();
    rmSync(directory, { recursive: true });
  }
}

/** Resident bytes of mapped tables. */
function residentTables(pid: number): number {
  const mappings = readFileSync(`/proc/${pid}/smaps`, 'utf8').split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m);
  const tables = mappings.filter((mapping) => /^.*\.ldb\n/.test(mapping));
  return tables.reduce((sum, mapping) => sum + Number(/^Rss:\s+(\d+) kB$/m.exec(mapping)?.[1]) * 1024, 0);
}

function inMebibytes(bytes: number): string {
  return `${(bytes / MIB).toFixed(0)} MiB resident`;
}

/** Compares builds on databases with many events: the cost of reads, and the memory after loading and reading. */
import { cpSync, readFileSync, rmSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Arena } from '../arena.ts';
import { type Build, startCairn } from '../peers/cairn.ts';
import { type ResidentMemory, residentMemory } from '../support/process-cpu.ts';
import { compete, type Plan, type Sample, spread, table, type Workload } from '../support/sample.ts';
import { ThreadTimes } from '../support/thread-times.ts';
import { type LoadedNode, loadEvents, loadedNode, scanWorkloads, selectorReads, selectorWorkload } from './read.ts';
import { settled } from './scale.ts';

export interface BuildContender {
  readonly name: string;
  readonly build: Build;
}

/** Names of the loads of `competeByReads`. */
export const READ_LOADS = ['selector-1', 'selector-16', 'selector-16-far', 'scan', 'scan-batches'] as const;
export type ReadLoad = (typeof READ_LOADS)[number];

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
  readonly tableBytes: number;
  /** Memory after loading, after a scan, after reads by subject, and after a rest. */
  readonly loaded: ResidentMemory;
  readonly scanned: ResidentMemory;
  /** Resident bytes of mapped tables after the scan. */
  readonly tablesMapped: number;
  readonly read: ResidentMemory;
  readonly rested: ResidentMemory;
}

const MIB = 2 ** 20;
const READERS = 16;

/** Loads the events with the first build and copies them for all others. */
export async function copyEvents(arena: Arena, contenders: readonly BuildContender[], events: number): Promise<void> {
  const [first] = contenders;
  if (events === 0 || first === undefined) return;
  const loaded = await loadedNode(arena, events, first.build);
  await settled(loaded);
  await loaded.node.stop();
  for (const { name } of contenders) cpSync(loaded.directory, join(arena.dir, name), { recursive: true });
  rmSync(loaded.directory, { recursive: true });
}

/** Loads the events with each build, because one build may not read the format of another. */
async function loadEach(arena: Arena, contenders: readonly BuildContender[], events: number): Promise<void> {
  for (const { name, build } of contenders) {
    const directory = join(arena.dir, name);
    const node = await startCairn(directory, build);
    await loadEvents(node, events);
    await settled({ node, directory, events });
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
  for (const { name, build } of contenders) {
    const node = await arena.cairn(name, build);
    nodes.push({ name, loaded: { node, directory: join(arena.dir, name), events } });
  }
  const texts: string[] = [];
  for (const load of loads) {
    const threads: { readonly peer: string; readonly times: ThreadTimes }[] = [];
    const workloads = nodes.map(({ name: peer, loaded }) => {
      const times = new ThreadTimes(loaded.node.pid);
      threads.push({ peer, times });
      return timed(peer, times, readWorkload(load, loaded));
    });
    const [first] = workloads;
    if (first === undefined) continue;
    const all = { ...first, contenders: workloads.flatMap((workload) => workload.contenders) };
    texts.push(table(all, await compete(all, plan)));
    texts.push(...threads.map(({ peer, times }) => `${peer}: ${times.text()}`), '');
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
    '| build | loaded | scanned | of it tables | read | rested | of it anonymous | mapped files | server µs an event loaded | events/s | tables written B an event |',
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
        column(samples, ({ load, tableBytes }) => tableBytes / load.operations, 0),
      ];
      return `| ${[name, ...cells].join(' | ')} |`;
    }),
    '',
  ].join('\n');
}

async function loadOnce(arena: Arena, { name, build }: BuildContender, plan: MemoryPlan): Promise<MemorySample> {
  const directory = join(arena.dir, `memory-${name}`);
  const node = await startCairn(directory, build);
  try {
    const load = await loadEvents(node, plan.events);
    const known = { node, directory, events: plan.events };
    const loaded = residentMemory(node.pid);
    for (const { contenders } of scanWorkloads(known)) for (const scan of contenders) await scan.run(0);
    const scanned = residentMemory(node.pid);
    const tablesMapped = residentTables(node.pid);
    await selectorReads(name, known, READERS).run(plan.seconds);
    const read = residentMemory(node.pid);
    await delay(plan.settleSeconds * 1000);
    const rested = residentMemory(node.pid);
    return { load, tableBytes: tableBytesWritten(directory), loaded, scanned, tablesMapped, read, rested };
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

/** Bytes of tables that LevelDB has written so far, including compactions, according to its LOG file. */
function tableBytesWritten(directory: string): number {
  const diary = readFileSync(join(directory, 'store', 'LOG'), 'utf8');
  const written = [...diary.matchAll(/Level-0 table #\d+: (\d+) bytes OK|Compacted .* => (\d+) bytes/g)];
  return written.reduce((sum, [, flushed = '0', compacted = '0']) => sum + Number(flushed) + Number(compacted), 0);
}

function readWorkload(load: ReadLoad, loaded: LoadedNode): Workload {
  if (load === 'selector-1') return selectorWorkload(loaded, 1);
  if (load === 'selector-16') return selectorWorkload(loaded, READERS);
  if (load === 'selector-16-far') return selectorWorkload(loaded, READERS, { order: 'far' });
  const [scan, batches] = scanWorkloads(loaded);
  return load === 'scan' ? scan : batches;
}

function timed(peer: string, times: ThreadTimes, workload: Workload): Workload {
  const contenders = workload.contenders.map((contender) => ({
    ...contender,
    peer,
    run: (seconds: number): Promise<Sample> => times.during(() => contender.run(seconds)),
    warmUp: (seconds: number): Promise<Sample> => contender.run(seconds),
  }));
  return { ...workload, contenders };
}

function inMebibytes(bytes: number): string {
  return `${(bytes / MIB).toFixed(0)} MiB resident`;
}

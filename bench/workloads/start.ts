/** Measures the cost of a start and the memory of an idle node, by starting and stopping contenders in turn. */
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Arena } from '../arena.ts';
import { startCairn } from '../peers/cairn.ts';
import { cpuSeconds, proportionalBytes, residentMemory } from '../support/process-cpu.ts';
import { spread } from '../support/results.ts';
import { type BuildContender, copyEvents } from './loaded-builds.ts';

export interface StartPlan {
  readonly rounds: number;
  /** Time from the ready line to the measurement of memory. */
  readonly settleSeconds: number;
  /** Number of events in the store; with 0, it has only the data of the first start. */
  readonly events: number;
}

interface StartSample {
  /** User and system time of all threads up to the ready line, in steps of 10 ms. */
  readonly cpuMs: number;
  readonly readyMs: number;
  readonly residentBytes: number;
  readonly anonymousBytes: number;
  readonly proportionalBytes: number;
  /** CPU time from the ready line to the measurement of memory. */
  readonly idleCpuMs: number;
}

/**
 * A Markdown table of medians (min to max) over the rounds. Each contender has its own directory and one unmeasured
 * start.
 */
export async function competeByStarts(
  arena: Arena,
  contenders: readonly BuildContender[],
  plan: StartPlan,
): Promise<string> {
  await copyEvents(arena, contenders, plan.events);
  const series = contenders.map((contender) => ({ contender, samples: new Array<StartSample>() }));
  for (const { contender } of series) await startOnce(arena, contender, { ...plan, settleSeconds: 0 });
  for (let round = 0; round < plan.rounds; round++) {
    for (const { contender, samples } of series) samples.push(await startOnce(arena, contender, plan));
  }
  return [
    '### start',
    '',
    `${plan.rounds} starts each with ${plan.events} events, in turn; memory ${plan.settleSeconds} s after the ready line; load average ${loadavg()[0]?.toFixed(1)}.`,
    '',
    '| build | CPU ms to ready | ms to ready | CPU ms then | resident MB | of it anonymous MB | proportional MB |',
    '| --- | --- | --- | --- | --- | --- | --- |',
    ...series.map(({ contender, samples }) => `| ${[contender.name, ...cells(samples)].join(' | ')} |`),
    '',
  ].join('\n');
}

async function startOnce(arena: Arena, { name, build }: BuildContender, plan: StartPlan): Promise<StartSample> {
  const node = await startCairn(join(arena.dir, name), build);
  try {
    const cpuMs = cpuSeconds([node.pid]) * 1000;
    await delay(plan.settleSeconds * 1000);
    const { total, anonymous } = residentMemory(node.pid);
    return {
      cpuMs,
      readyMs: node.readyMs,
      residentBytes: total,
      anonymousBytes: anonymous,
      proportionalBytes: proportionalBytes(node.pid),
      idleCpuMs: cpuSeconds([node.pid]) * 1000 - cpuMs,
    };
  } finally {
    await node.stop();
  }
}

function cells(samples: readonly StartSample[]): readonly string[] {
  const column = (of: (sample: StartSample) => number, digits: number): string =>
    spread(samples.map(of), (value) => value.toFixed(digits));
  return [
    column((sample) => sample.cpuMs, 0),
    column((sample) => sample.readyMs, 0),
    column((sample) => sample.idleCpuMs, 0),
    column((sample) => sample.residentBytes / 1e6, 1),
    column((sample) => sample.anonymousBytes / 1e6, 1),
    column((sample) => sample.proportionalBytes / 1e6, 1),
  ];
}

// Goal: a benchmark's table shows what was measured, and no percentile of so few calls that none lies beyond it.
// Method: tables of made-up runs.
import { expect, it } from 'vitest';
import { Latencies } from '../../../bench/support/latencies.ts';
import { type Contender, type Sample, type Series, table, type Workload } from '../../../bench/support/sample.ts';

/** A run of so many calls, of 10 ms each. */
function run(calls: number): Sample {
  const latencies = new Latencies();
  for (let i = 0; i < calls; i++) latencies.add(10);
  const seconds = 2;
  return { operations: calls, failed: 0, seconds, latencies, serverCpuSeconds: 1, clientCpuSeconds: 1 };
}

/** Head and row of the table of two runs. */
function shown(first: Sample, second: Sample): readonly (string | undefined)[] {
  const contender: Contender = { peer: 'cairn', durability: 'reads', run: async () => first };
  const workload: Workload = {
    name: 'w',
    what: 'W.',
    unit: 'events',
    clients: 1,
    eventBytes: 1,
    contenders: [contender],
  };
  const series: Series = { contender, samples: [first, second] };
  const lines = table(workload, [series])
    .split('\n')
    .filter((line) => line.startsWith('|'));
  return [lines[0], lines[2]].map((line) => line?.split(' | ').slice(3, -4).join(' | '));
}

it.each([
  { calls: 1, head: 's a call', row: '2.00 (2.00 to 2.00)' },
  { calls: 99, head: 'p50 ms | p99 ms | p99.9 ms', row: '10.00 |  | ' },
  { calls: 100, head: 'p50 ms | p99 ms | p99.9 ms', row: '10.00 | 10.00 | ' },
  { calls: 1000, head: 'p50 ms | p99 ms | p99.9 ms', row: '10.00 | 10.00 | 10.00' },
])('a table of runs of $calls calls has the times $head', ({ calls, head, row }) => {
  expect(shown(run(calls), run(calls))).toEqual([head, row]);
});

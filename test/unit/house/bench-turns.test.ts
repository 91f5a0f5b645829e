// Goal: the run continues when a contender hangs or fails; its servers are killed, and its row gives the reason.
// Method: real processes as servers, with a limit that passes at once; contenders without any load.
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { Latencies } from '../../../bench/support/latencies.ts';
import { rateLines } from '../../../bench/support/results.ts';
import { type Contender, compete, type Sample, type Turns } from '../../../bench/support/sample.ts';
import { isServing, launch } from '../../../bench/support/server-process.ts';

const PLAN = { rounds: 3, seconds: 0.01, warmUpSeconds: 0, limitSeconds: 0.05 };

function sampled(operations: number): Sample {
  const latencies = new Latencies();
  latencies.add(1);
  latencies.add(3);
  return { operations, failed: 0, seconds: 2, latencies, serverCpuSeconds: 0.001, clientCpuSeconds: Number.NaN };
}

/** A contender whose turns sample these numbers of operations; the warm-up is the first. */
function contender(peer: string, ...operations: readonly number[]): Contender {
  const left = [...operations];
  const turns: Turns = { run: async () => sampled(left.shift() ?? 0), note: () => `remark of ${peer}` };
  return { peer, directory: `/servers/${peer}`, open: async () => turns };
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}

async function series(...contenders: readonly Contender[]): ReturnType<typeof compete> {
  const workload = { name: 'work', what: 'Work.', unit: 'events', clients: 1, eventBytes: 256, contenders };
  return compete(workload, PLAN);
}

it('kills the servers of a contender whose turn does not end, and continues with the others', async () => {
  const servers = ['/servers/hung', '/servers/hung/member', '/servers/hungry'].map((directory) =>
    launch(directory, 'cat', { args: [], stdio: ['pipe', 'ignore', 'ignore'] }),
  );
  const ended = servers.slice(0, 2).map((server) => once(server, 'exit'));
  let turn = 0;
  const hung: Contender = {
    peer: 'hung',
    directory: '/servers/hung',
    open: async () => ({ run: () => (turn++ < 2 ? Promise.resolve(sampled(20)) : never()) }),
  };
  const found = await series(contender('first', 1, 10, 20, 30), hung);
  expect((await Promise.all(ended)).map(([, signal]: unknown[]) => signal)).toEqual(['SIGKILL', 'SIGKILL']);
  expect(['/servers/hung', '/servers/hungry'].map(isServing)).toEqual([false, true]);
  servers[2]?.kill();
  expect(found.map(({ peer, samples, failure }) => ({ peer, turns: samples.length, failure }))).toEqual([
    { peer: 'first', turns: 3, failure: undefined },
    { peer: 'hung', turns: 1, failure: expect.stringMatching(/^ended after .* s, its servers killed$/) },
  ]);
});

it('leaves out a contender that cannot be opened', async () => {
  const broken = { ...contender('broken'), open: () => Promise.reject(new Error('no such program')) };
  const slow = { ...contender('slow'), open: never };
  const found = await series(broken, slow, contender('other', 1, 10, 20, 30));
  expect(found.map(({ samples, failure, note }) => [samples.length, failure, note])).toEqual([
    [0, 'failed: no such program', undefined],
    [0, expect.stringMatching(/^ended after /), undefined],
    [3, undefined, 'remark of other'],
  ]);
});

it('writes a line for each contender, with ratios by round and the reason of a failure', async () => {
  const half = { ...contender('half', 1, 5, 20, 0), note: undefined };
  const lines = rateLines(
    { name: 'work', what: 'Work.', unit: 'events', clients: 1, eventBytes: 256, contenders: [] },
    [
      ...(await series(contender('first', 1, 10, 20, 30), half)),
      { peer: 'out', samples: [], failure: 'ended after 6 s, its servers killed' },
    ],
  );
  const cells = lines.split('\n').map((line) => line.split(' | ').slice(0, -1).join(' | '));
  expect(cells).toEqual([
    '| work | first | 10 (5 to 15) events |  | 3.00 |  |  | 50.0 |  |  | 0',
    '| work | half | 3 (0 to 10) events | 2.00 (1.00 to 2.00) | 3.00 |  |  | 120.0 |  |  | 0',
    '| work | out | ended after 6 s, its servers killed |  |  |  |  |  |  |  | 0',
  ]);
});

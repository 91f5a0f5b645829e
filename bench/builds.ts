/**
 * Builds of the server against one another, or one build under several options: appends by gRPC, in turn.
 *
 *   node --conditions=source bench/builds.ts [--loads 64x1,16x100] [--rounds 5] [--seconds 2] [--warm-up 4] \\
 *     old=../old new=. 'large=. --max-semi-space-size=64 MALLOC_ARENA_MAX=2'
 *
 * A contender is a name, the checkout that it is built in (npm run build), and options of Node and variables of the
 * environment for it. Prints a table for each load (callers x events), and the resident memory of each at the end.
 */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { Arena } from './arena.ts';
import type { Build } from './peers/cairn.ts';
import { residentMemory } from './support/process-cpu.ts';
import { compete, table, type Workload } from './support/sample.ts';
import { nodeAppend } from './workloads/append.ts';

const EVENT_BYTES = 256;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    loads: { type: 'string', default: '64x1,16x100' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    'warm-up': { type: 'string', default: '4' },
  },
});
const plan = {
  rounds: Number(values.rounds),
  seconds: Number(values.seconds),
  warmUpSeconds: Number(values['warm-up']),
};

await using arena = new Arena();
const contenders = await Promise.all(
  positionals.map(async (text) => {
    const { name, build } = contender(text);
    return { name, node: await arena.cairn(name, build) };
  }),
);
for (const load of values.loads.split(',')) {
  const workload = await appends(load);
  process.stdout.write(`${table(workload, await compete(workload, plan))}\n`);
}
for (const { name, node } of contenders) {
  process.stdout.write(`${name}: ${(residentMemory(node.pid).total / 2 ** 20).toFixed(0)} MiB resident\n`);
}

function contender(text: string): { readonly name: string; readonly build: Build } {
  const [name = '', rest = ''] = text.split(/=(.*)/s);
  const [root = '.', ...words] = rest.split(' ').filter(Boolean);
  const variables = words.filter((word) => !word.startsWith('--')).map((word) => word.split('='));
  return {
    name,
    build: {
      root: resolve(root),
      nodeOptions: words.filter((word) => word.startsWith('--')),
      env: Object.fromEntries(variables),
    },
  };
}

async function appends(name: string): Promise<Workload> {
  const [clients = 1, events = 1] = name.split('x').map(Number);
  const what = `Conditional transactions of ${events} events.`;
  const load = { name, what, clients, events, eventBytes: EVENT_BYTES, conditional: true };
  const made = contenders.map(async ({ name: peer, node }) => ({ ...(await nodeAppend(arena, node, load)), peer }));
  return { ...load, unit: 'events', contenders: await Promise.all(made) };
}

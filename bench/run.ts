/**
 * npm run bench: the named workloads against this build and, where they are installed, etcd and PostgreSQL, on one
 * machine in one run. Contenders take turns, so that whatever disturbs the machine disturbs them alike.
 *
 *   npm run bench -- [--only name,name] [--rounds 5] [--seconds 3] [--warm-up 5] [--events 1000000]
 *
 * The workload `scale` loads ten times as many events and takes minutes, and `cluster-*` start three nodes of each:
 * they run only when --only names them.
 *
 * Prints Markdown; what was seen on which machine is kept in RESULTS.md.
 */
import { cpus, release, totalmem } from 'node:os';
import { readNumber, readOptions, refuse } from '../scripts/support/command-line.ts';
import { Arena } from './arena.ts';
import { etcdVersion } from './peers/etcd.ts';
import { postgresBin, postgresVersion } from './peers/postgres.ts';
import { hasH2load } from './support/h2load.ts';
import { compete, type Plan, table, type Workload } from './support/sample.ts';
import { appendWorkload, constraintWorkload, grpcJsWorkload, h2loadWorkload } from './workloads/append.ts';
import { clusterWorkload } from './workloads/cluster.ts';
import { footprint } from './workloads/footprint.ts';
import { type LoadedNode, loadedNode, scanWorkloads, selectorWorkload } from './workloads/read.ts';
import { scaleWorkloads } from './workloads/scale.ts';

const EVENT_BYTES = 256;
const SCALE = 10;

const values = readOptions({ only: undefined, rounds: '5', seconds: '3', 'warm-up': '5', events: '1000000' });
const plan: Plan = {
  rounds: readNumber('rounds', values.rounds, { min: 1, isWhole: true }),
  seconds: readNumber('seconds', values.seconds, { min: 0.1, isWhole: false }),
  warmUpSeconds: readNumber('warm-up', values['warm-up'], { min: 0, isWhole: false }),
};
const events = readNumber('events', values.events, { min: 1, isWhole: true });
const only = values.only?.split(',');
const print = (text: string): void => void process.stdout.write(`${text}\n`);

let loading: Promise<LoadedNode> | undefined;
const loaded = (): Promise<LoadedNode> => {
  loading ??= loadedNode(arena, events);
  return loading;
};

const append = (name: string, clients: number, perTransaction: number): (() => Promise<readonly Workload[]>) => {
  const what = `Conditional transactions of ${perTransaction === 1 ? 'one event' : `${perTransaction} events`}.`;
  const load = { name, what, clients, events: perTransaction, eventBytes: EVENT_BYTES };
  return async () => [await appendWorkload(arena, load)];
};

const cluster = (name: string, clients: number, perTransaction: number): (() => Promise<readonly Workload[]>) => {
  const what = `Conditional transactions of ${perTransaction === 1 ? 'one event' : `${perTransaction} events`}, three nodes.`;
  const load = { name, what, clients, events: perTransaction, eventBytes: EVENT_BYTES };
  return async () => [await clusterWorkload(arena, load)];
};

const workloads: Readonly<Record<string, () => Promise<readonly Workload[]>>> = {
  'append-1': append('append-1', 1, 1),
  'append-64': append('append-64', 64, 1),
  'append-16x100': append('append-16x100', 16, 100),
  'append-64-grpc-js': async () => {
    const what = 'Conditional transactions of one event, by the grpc-js client.';
    return [
      await grpcJsWorkload(arena, { name: 'append-64-grpc-js', what, clients: 64, events: 1, eventBytes: EVENT_BYTES }),
    ];
  },
  'append-64-h2load': async () => {
    if (!hasH2load()) return [];
    const what = 'The same transaction of one event again and again, by h2load.';
    return [
      await h2loadWorkload(arena, { name: 'append-64-h2load', what, clients: 64, events: 1, eventBytes: EVENT_BYTES }),
    ];
  },
  'constraint-cost': async () => {
    const what = 'Transactions of one event with a constraint and without.';
    return [
      await constraintWorkload(arena, {
        name: 'constraint-cost',
        what,
        clients: 64,
        events: 1,
        eventBytes: EVENT_BYTES,
      }),
    ];
  },
  scan: async () => scanWorkloads(await loaded()),
  'selector-read': async () => [
    selectorWorkload(await loaded(), 1),
    selectorWorkload(await loaded(), 16),
    selectorWorkload(await loaded(), 16, 'far'),
  ],
  'cluster-append-64': cluster('cluster-append-64', 64, 1),
  'cluster-append-16x100': cluster('cluster-append-16x100', 16, 100),
  scale: async () => scaleWorkloads(arena, await loaded(), await loadedNode(arena, events * SCALE)),
};
const DEFAULT = Object.keys(workloads).filter((name) => name !== 'scale' && !name.startsWith('cluster-'));
const names = [...Object.keys(workloads), 'footprint'];
const unknown = only?.find((name) => !names.includes(name));
if (unknown !== undefined) refuse(`--only ${JSON.stringify(unknown)} is no workload; there are ${names.join(', ')}`);

await using arena = new Arena();
print(machine());
for (const [name, prepare] of Object.entries(workloads)) {
  if (!(only ?? DEFAULT).includes(name)) continue;
  for (const workload of await prepare()) print(table(workload, await compete(workload, plan)));
}
if (only === undefined || only.includes('footprint')) print(await footprint(arena, await loaded()));

function machine(): string {
  const processors = cpus();
  const bin = postgresBin();
  return `# Benchmark

${processors.length} × ${processors[0]?.model ?? 'unknown'}, ${(totalmem() / 2 ** 30).toFixed(0)} GiB, Linux ${release()}, Node ${process.version};
etcd ${etcdVersion() ?? 'not installed'}, PostgreSQL ${bin === undefined ? 'not installed' : postgresVersion(bin)}.
Client on the same machine. ${plan.rounds} rounds of ${plan.seconds} s each after ${plan.warmUpSeconds} s of warm-up, contenders in turn; median
(min to max).
`;
}

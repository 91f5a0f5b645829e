/** The list of all named workloads of `npm run bench`, in their order of execution. */
import type { Arena } from '../arena.ts';
import { hasH2load } from '../peers/installed.ts';
import type { Workload } from '../support/sample.ts';
import { type AppendLoad, appendWorkload, constraintWorkload, grpcJsWorkload, h2loadWorkload } from './append.ts';
import { catchUp } from './catch-up.ts';
import { clusterWorkload } from './cluster.ts';
import { coldDisk } from './cold-disk.ts';
import { conflictWorkload } from './conflict-heavy.ts';
import { databasesWorkloads } from './databases.ts';
import { esbs } from './esbs.ts';
import { footprint, largeStart } from './footprint.ts';
import { latencyWorkload } from './latency-20.ts';
import { liveTailWorkloads } from './live-tail.ts';
import type { Named, Suite } from './named.ts';
import { scanWorkloads, selectorWorkload, singleReadWorkload } from './read.ts';
import { scaleWorkloads } from './scale.ts';
import { speedrunWorkload } from './speedrun.ts';
import { umadb } from './umadb.ts';
import { writtenWorkload } from './written.ts';

const EVENT_BYTES = 256;
const SCALE = 10;
const READERS = 16;
const IN_DEFAULT: readonly Suite[] = ['default', 'standard'];
const IN_STANDARD: readonly Suite[] = ['standard'];
const IN_LONG: readonly Suite[] = ['long'];

/** The footprint is last, because it stops the node with the events. */
export function catalogue(): readonly Named[] {
  return [
    ...appends(),
    ...reads(),
    ...clusters(),
    ...underLoad(),
    ...esbs(),
    ...umadb(),
    ...long(),
    { name: 'footprint', suites: IN_DEFAULT, prepare: (run) => [footprint(run)] },
  ];
}

function appends(): readonly Named[] {
  return [
    append('append-1', 1, 1),
    append('append-64', 64, 1),
    append('append-16x100', 16, 100),
    sole('append-64-grpc-js', 'Conditional transactions of one event, by the grpc-js client.', grpcJsWorkload),
    {
      ...sole('append-64-h2load', 'The same transaction of one event again and again, by h2load.', h2loadWorkload),
      ...(hasH2load() ? {} : { prepare: () => [] }),
    },
    sole('constraint-cost', 'Transactions of one event with a constraint and without.', constraintWorkload),
    { name: 'databases-64', suites: IN_DEFAULT, prepare: ({ arena }) => databasesWorkloads(arena) },
    { name: 'written', suites: IN_DEFAULT, prepare: ({ arena, events }) => [writtenWorkload(arena, events)] },
  ];
}

function reads(): readonly Named[] {
  return [
    { name: 'scan', suites: IN_DEFAULT, prepare: scanWorkloads },
    {
      name: 'selector-read',
      suites: IN_DEFAULT,
      prepare: (run) =>
        (['near', 'far'] as const).flatMap((order) =>
          [1, READERS].map((clients) => selectorWorkload(run, clients, order)),
        ),
    },
    { name: 'single-read', suites: IN_DEFAULT, prepare: (run) => [singleReadWorkload(run, READERS)] },
  ];
}

function clusters(): readonly Named[] {
  return [cluster('cluster-append-64', 64, 1), cluster('cluster-append-16x100', 16, 100)];
}

function underLoad(): readonly Named[] {
  return [
    { name: 'live-tail', suites: IN_STANDARD, prepare: ({ arena }) => liveTailWorkloads(arena) },
    { name: 'latency-20', suites: IN_STANDARD, prepare: ({ arena }) => [latencyWorkload(arena)] },
    { name: 'conflict-heavy', suites: IN_STANDARD, prepare: ({ arena }) => [conflictWorkload(arena)] },
    { name: 'speedrun', suites: IN_STANDARD, prepare: ({ arena }) => [speedrunWorkload(arena)] },
  ];
}

function long(): readonly Named[] {
  return [
    {
      name: 'scale',
      suites: IN_LONG,
      prepare: ({ arena, events }) => scaleWorkloads(arena, events, events * SCALE),
    },
    { name: 'start', suites: IN_LONG, prepare: ({ arena, events }) => [largeStart({ arena, events: events * SCALE })] },
    { name: 'catch-up', suites: IN_LONG, prepare: (run) => [catchUp(run)] },
    { name: 'cold-disk', suites: IN_LONG, prepare: (run) => [coldDisk(run)] },
  ];
}

function append(name: string, clients: number, perTransaction: number): Named {
  const what = `Conditional transactions of ${perTransaction === 1 ? 'one event' : `${perTransaction} events`}.`;
  const load = { name, what, clients, events: perTransaction, eventBytes: EVENT_BYTES };
  return { name, suites: IN_DEFAULT, prepare: ({ arena }) => [appendWorkload(arena, load)] };
}

function cluster(name: string, clients: number, perTransaction: number): Named {
  const what = `Conditional transactions of ${perTransaction === 1 ? 'one event' : `${perTransaction} events`}, three nodes.`;
  const load = { name, what, clients, events: perTransaction, eventBytes: EVENT_BYTES };
  return { name, suites: IN_STANDARD, prepare: ({ arena }) => [clusterWorkload(arena, load)] };
}

/** Transactions of one event by 64 callers. */
function sole(name: string, what: string, make: (arena: Arena, load: AppendLoad) => Workload): Named {
  const load = { name, what, clients: 64, events: 1, eventBytes: EVENT_BYTES };
  return { name, suites: IN_DEFAULT, prepare: ({ arena }) => [make(arena, load)] };
}

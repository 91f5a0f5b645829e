/** The list of all named workloads of `npm run bench`, in their order of execution. */
import type { Arena } from '../arena.ts';
import { hasH2load } from '../support/h2load.ts';
import type { Workload } from '../support/sample.ts';
import { type AppendLoad, appendWorkload, constraintWorkload, grpcJsWorkload, h2loadWorkload } from './append.ts';
import { clusterWorkload } from './cluster.ts';
import { conflictWorkload } from './conflict-heavy.ts';
import { esbs } from './esbs.ts';
import { latencyWorkload } from './latency-20.ts';
import type { Named, Preparation, Suite } from './named.ts';
import { type LoadedNode, loadedNode, scanWorkloads, selectorWorkload, shapeOf } from './read.ts';
import { type LoadedPeers, loadedPeers } from './read-peers.ts';
import { scaleWorkloads } from './scale.ts';
import { speedrunWorkload } from './speedrun.ts';
import { umadb } from './umadb.ts';

const EVENT_BYTES = 256;
const SCALE = 10;
const IN_DEFAULT: readonly Suite[] = ['default', 'standard'];
const IN_STANDARD: readonly Suite[] = ['standard'];

const nodes = new WeakMap<Arena, Promise<LoadedNode>>();
const peers = new WeakMap<Arena, Promise<LoadedPeers>>();

/** The loaded node that all reads of a run share. */
export function loadedOnce({ arena, events }: Preparation): Promise<LoadedNode> {
  const loading = nodes.get(arena) ?? loadedNode(arena, events);
  nodes.set(arena, loading);
  return loading;
}

export function catalogue(): readonly Named[] {
  return [...appends(), ...reads(), ...clusters(), ...underLoad(), ...esbs(), ...umadb()];
}

function appends(): readonly Named[] {
  return [
    append('append-1', 1, 1),
    append('append-64', 64, 1),
    append('append-16x100', 16, 100),
    sole('append-64-grpc-js', 'Conditional transactions of one event, by the grpc-js client.', grpcJsWorkload),
    {
      ...sole('append-64-h2load', 'The same transaction of one event again and again, by h2load.', h2loadWorkload),
      ...(hasH2load() ? {} : { prepare: async () => [] }),
    },
    sole('constraint-cost', 'Transactions of one event with a constraint and without.', constraintWorkload),
  ];
}

function reads(): readonly Named[] {
  return [
    {
      name: 'scan',
      suites: IN_DEFAULT,
      prepare: async (run) => scanWorkloads(await loadedOnce(run), await peersOnce(run)),
    },
    {
      name: 'selector-read',
      suites: IN_DEFAULT,
      prepare: async (run) => {
        const [loaded, others] = [await loadedOnce(run), await peersOnce(run)];
        return [
          selectorWorkload(loaded, 1, { peers: others }),
          selectorWorkload(loaded, 16, { peers: others }),
          selectorWorkload(loaded, 16, { order: 'far', peers: others }),
        ];
      },
    },
    {
      name: 'scale',
      suites: IN_STANDARD,
      prepare: async (run) =>
        scaleWorkloads(run.arena, await loadedOnce(run), await loadedNode(run.arena, run.events * SCALE)),
    },
  ];
}

function clusters(): readonly Named[] {
  return [cluster('cluster-append-64', 64, 1), cluster('cluster-append-16x100', 16, 100)];
}

function underLoad(): readonly Named[] {
  return [
    { name: 'latency-20', suites: IN_STANDARD, prepare: async ({ arena }) => [await latencyWorkload(arena)] },
    { name: 'conflict-heavy', suites: IN_STANDARD, prepare: async ({ arena }) => [await conflictWorkload(arena)] },
    { name: 'speedrun', suites: IN_STANDARD, prepare: async ({ arena }) => [await speedrunWorkload(arena)] },
  ];
}

function append(name: string, clients: number, perTransaction: number): Named {
  const what = `Conditional transactions of ${perTransaction === 1 ? 'one event' : `${perTransaction} events`}.`;
  const load = { name, what, clients, events: perTransaction, eventBytes: EVENT_BYTES };
  return { name, suites: IN_DEFAULT, prepare: async ({ arena }) => [await appendWorkload(arena, load)] };
}

function cluster(name: string, clients: number, perTransaction: number): Named {
  const what = `Conditional transactions of ${perTransaction === 1 ? 'one event' : `${perTransaction} events`}, three nodes.`;
  const load = { name, what, clients, events: perTransaction, eventBytes: EVENT_BYTES };
  return { name, suites: IN_STANDARD, prepare: async ({ arena }) => [await clusterWorkload(arena, load)] };
}

/** Transactions of one event by 64 callers. */
function sole(name: string, what: string, make: (arena: Arena, load: AppendLoad) => Promise<Workload>): Named {
  const load = { name, what, clients: 64, events: 1, eventBytes: EVENT_BYTES };
  return { name, suites: IN_DEFAULT, prepare: async ({ arena }) => [await make(arena, load)] };
}

/** The loaded peers that all reads of a run share. */
function peersOnce({ arena, events }: Preparation): Promise<LoadedPeers> {
  const loading = peers.get(arena) ?? loadedPeers(arena, shapeOf(events));
  peers.set(arena, loading);
  return loading;
}

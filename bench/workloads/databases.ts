/**
 * One writer for each of many databases, compared with as many writers of one database: on one node, and on three,
 * where each writer sends to the leader of its database.
 */
import { type Arena, contenderOf } from '../arena.ts';
import { appendRequests, type CairnNode, createDatabase, TRANSACT } from '../peers/cairn.ts';
import type { CairnCluster } from '../peers/cairn-cluster.ts';
import { closedLoop, type LoadResult } from '../support/closed-loop.ts';
import { grpcHeaders } from '../support/http2-connection.ts';
import { Latencies } from '../support/latencies.ts';
import { measuredRun } from '../support/measured.ts';
import type { Turns, Workload } from '../support/sample.ts';

const WRITERS = 64;
const EVENT_BYTES = 256;
const NAME = `databases-${WRITERS}`;

/** A database and the node that its writers send to. */
interface Place {
  readonly database: string;
  readonly node: CairnNode;
}

export function databasesWorkloads(arena: Arena): readonly Workload[] {
  const shared = { unit: 'events', clients: WRITERS, eventBytes: EVENT_BYTES };
  const what = 'Conditional transactions of one event, each writer in a database of its own';
  const counts = [WRITERS, 1];
  return [
    {
      ...shared,
      name: NAME,
      what: `${what}.`,
      contenders: counts.map((count) =>
        contenderOf(arena.node, (node) => onNode(arena, node, count), `, ${databases(count)}`),
      ),
    },
    {
      ...shared,
      name: `cluster-${NAME}`,
      what: `${what}, three nodes, at the leader.`,
      contenders: counts.map((count) =>
        contenderOf(arena.cluster, (cluster) => onCluster(arena, cluster, count), `, ${databases(count)}`),
      ),
    },
  ];
}

function databases(count: number): string {
  return count === 1 ? 'one database' : `${count} databases`;
}

async function onNode(arena: Arena, node: CairnNode, count: number): Promise<Turns> {
  const names = namesOf(count);
  for (const name of names) await createDatabase(node, name);
  const places = names.map((database) => ({ database, node }));
  return writing(arena, [node.pid], places);
}

async function onCluster(arena: Arena, cluster: CairnCluster, count: number): Promise<Turns> {
  const names = namesOf(count);
  await cluster.createDatabases(names);
  const leaders = await cluster.leadersOf(names);
  const places = names.map((database) => ({ database, node: cluster.node(leaders.get(database) ?? '') }));
  return writing(arena, cluster.pids, places);
}

function namesOf(count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => `${NAME}-of-${count}-${at}`);
}

/** Spreads the writers evenly over the databases; the connections to a node belong to its writers. */
function writing(arena: Arena, pids: readonly number[], places: readonly Place[]): Turns {
  const templates = new Map<CairnNode, { next(): Buffer }[]>();
  for (const { database, node } of places) {
    const shape = { database, events: 1, eventBytes: EVENT_BYTES, conditional: true };
    const template = appendRequests(shape, arena.numbers());
    templates.set(node, [...(templates.get(node) ?? []), template]);
  }
  const perDatabase = WRITERS / places.length;
  const headers = grpcHeaders(TRANSACT);
  const loop = (seconds: number): Promise<readonly LoadResult[]> =>
    Promise.all(
      [...templates].map(([{ address }, own]) => {
        const request = (caller: number): Buffer => own[caller % own.length]?.next() ?? Buffer.alloc(0);
        return closedLoop({ address, headers, clients: own.length * perDatabase, seconds, request });
      }),
    );
  return { run: (seconds) => measuredRun({ pids, eventsPerCall: 1 }, async () => together(await loop(seconds))) };
}

function together(results: readonly LoadResult[]): LoadResult {
  const latencies = new Latencies();
  for (const each of results) latencies.addAll(each.latencies);
  const failed = results.reduce((total, each) => total + each.failed, 0);
  return { calls: latencies.count, failed, seconds: Math.max(...results.map(({ seconds }) => seconds)), latencies };
}

/**
 * The configurations of pyeventsourcing/event-store-benchmark (ESBS, MIT), compared with PostgreSQL and etcd. The
 * numbers of writers and readers, sizes, streams, distributions and initial events are those of ESBS; the duration of a
 * turn is --seconds. Its streams are subjects here, and writes have no conditions.
 *
 * For mixed loads, all callers draw whether they write or read by the share of writes, so the ratio does not depend on
 * the speed of either. ESBS does not specify the exponent of its Zipf distribution; `ZIPF` is used here.
 */
import { type Arena, contenderOf } from '../arena.ts';
import {
  appendRequests,
  type CairnNode,
  createDatabase,
  QUERY_EVENTS,
  subjectQueries,
  TRANSACT,
} from '../peers/cairn.ts';
import { ETCD_RANGE, ETCD_TXN, type Etcd, etcdRanges, etcdSpreadPuts } from '../peers/etcd.ts';
import { measuredPgbench, type Postgres } from '../peers/postgres.ts';
import { drawnInsertScript, drawnSubjectScript, loadTable } from '../peers/postgres-events.ts';
import type { DrawnCall } from '../support/closed-loop.ts';
import { seeded, uniform, zipf } from '../support/draws.ts';
import { grpcHeaders } from '../support/http2-connection.ts';
import { Latencies } from '../support/latencies.ts';
import { fill, measured } from '../support/measured.ts';
import type { RequestTemplate } from '../support/request-template.ts';
import type { Sample, Turns, Workload } from '../support/sample.ts';
import type { Named } from './named.ts';

interface Configuration {
  readonly name: string;
  readonly writers: number;
  readonly readers: number;
  /** Share of writes among all calls. */
  readonly writeShare: number;
  readonly eventBytes: number;
  /** Maximum number of events per read. */
  readonly batch: number;
  readonly distribution: 'uniform' | 'zipf';
  /** Number of streams that are written to. */
  readonly streams: number;
  readonly before: { readonly events: number; readonly streams: number };
}

const ZIPF = 1.1;
const COUNTS = [1, 2, 4, 8, 16, 32];
const NOTHING = { events: 0, streams: 0 };
const PER_TRANSACTION = 100;

const WRITES = {
  readers: 0,
  writeShare: 1,
  eventBytes: 256,
  batch: 0,
  distribution: 'uniform',
  before: NOTHING,
} as const;
const MIXED = { eventBytes: 256, batch: 50, distribution: 'uniform', streams: 10_000 } as const;

const WRITERS = COUNTS.map(
  (writers): Configuration => ({ ...WRITES, name: `esbs-writers-${writers}`, writers, streams: 10_000 }),
);
const READERS = COUNTS.map((readers): Configuration => {
  const before = { events: 5000, streams: 500 };
  const reads = { writers: 0, writeShare: 0, eventBytes: 256, batch: 100, streams: 500, before };
  return { ...reads, name: `esbs-readers-${readers}`, readers, distribution: 'uniform' };
});
const ALONE: readonly Configuration[] = [
  {
    ...MIXED,
    name: 'esbs-mixed-50-50',
    writers: 8,
    readers: 8,
    writeShare: 0.5,
    before: { events: 10_000, streams: 5000 },
  },
  {
    ...MIXED,
    name: 'esbs-mixed-read-heavy-70-30',
    writers: 4,
    readers: 12,
    writeShare: 0.3,
    distribution: 'zipf',
    before: { events: 20_000, streams: 5000 },
  },
  {
    ...MIXED,
    name: 'esbs-mixed-write-heavy-30-70',
    writers: 12,
    readers: 4,
    writeShare: 0.7,
    before: { events: 5000, streams: 2000 },
  },
  { ...WRITES, name: 'esbs-audit-log', writers: 16, streams: 20_000 },
  {
    ...MIXED,
    name: 'esbs-cqrs-read-model',
    writers: 4,
    readers: 24,
    writeShare: 0.15,
    eventBytes: 384,
    distribution: 'zipf',
    before: { events: 30_000, streams: 8000 },
  },
  { ...WRITES, name: 'esbs-ingestion', writers: 32, eventBytes: 128, streams: 50_000 },
  { ...WRITES, name: 'esbs-microservices', writers: 8, eventBytes: 512, distribution: 'zipf', streams: 5000 },
];

export function esbs(): readonly Named[] {
  return [
    named('esbs-writers', WRITERS),
    named('esbs-readers', READERS),
    ...ALONE.map((configuration) => named(configuration.name, [configuration])),
  ];
}

function named(name: string, configurations: readonly Configuration[]): Named {
  return { name, suites: ['esbs'], prepare: ({ arena }) => configurations.map((each) => workload(arena, each)) };
}

function workload(arena: Arena, configuration: Configuration): Workload {
  const { name, writers, readers, eventBytes, before, distribution } = configuration;
  const callers = [...(writers > 0 ? [`${writers} writers`] : []), ...(readers > 0 ? [`${readers} readers`] : [])];
  const held = before.events === 0 ? 'nothing before' : `${before.events} events of ${before.streams} streams before`;
  const what = `ESBS: ${callers.join(', ')}, streams drawn ${distribution === 'zipf' ? `by Zipf ${ZIPF}` : 'uniformly'}, ${held}.`;
  return {
    name,
    what,
    unit: 'calls',
    clients: writers + readers,
    eventBytes,
    contenders: [
      contenderOf(arena.node, (node) => cairn(arena, node, configuration)),
      ...arena.postgreses.map((peer) => contenderOf(peer, (server) => postgres(server, configuration))),
      ...arena.etcds.map((peer) => contenderOf(peer, (server) => etcd(arena, server, configuration))),
    ],
  };
}

/** The latencies of both kinds of calls, over all runs. */
interface Kinds {
  readonly writes: Latencies;
  readonly reads: Latencies;
}

/** Loads with both kinds of calls tell them apart. */
function mixedNote({ writers, readers }: Configuration, kinds: Kinds): Pick<Turns, 'note'> {
  return writers > 0 && readers > 0 ? { note: () => both(kinds) } : {};
}

function both({ writes, reads }: Kinds): string {
  const told = (kind: string, latencies: Latencies): string => {
    const { p50, p99 } = latencies.percentiles();
    return `${latencies.count} ${kind}, p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`;
  };
  return `${told('writes', writes)}; ${told('reads', reads)}, in all runs and the warm-up`;
}

async function cairn(arena: Arena, node: CairnNode, configuration: Configuration): Promise<Turns> {
  const { name: database, eventBytes, before, batch } = configuration;
  await createDatabase(node, database);
  const shape = { database, eventBytes, conditional: false };
  if (before.events > 0) {
    const subjectOf = (number: number): number => number % before.streams;
    const template = appendRequests({ ...shape, events: PER_TRANSACTION, subjectOf }, 0);
    await filled(node, TRANSACT, { template, events: before.events });
  }
  const writes = appendRequests({ ...shape, events: 1, subjectOf: drawing(configuration) }, arena.numbers());
  const reads = subjectQueries(database, drawingBefore(configuration), { limit: batch });
  const calls = { writes: { path: TRANSACT, template: writes }, reads: { path: QUERY_EVENTS, template: reads } };
  return byCalls(node, configuration, calls);
}

async function etcd(arena: Arena, server: Etcd, configuration: Configuration): Promise<Turns> {
  const { name, eventBytes: valueBytes, before, batch: limit } = configuration;
  const prefix = `${name}-`;
  if (before.events > 0) {
    const subjectOf = (number: number): number => number % before.streams;
    const template = etcdSpreadPuts(PER_TRANSACTION, { prefix, subjectOf, valueBytes });
    await filled(server, ETCD_TXN, { template, events: before.events });
  }
  const spread = { prefix, subjectOf: drawing(configuration), valueBytes, firstCounter: arena.numbers() };
  const reads = etcdRanges({ prefix, subjectOf: drawingBefore(configuration), limit });
  const writes = { path: ETCD_TXN, template: etcdSpreadPuts(1, spread) };
  const calls = { writes, reads: { path: ETCD_RANGE, template: reads } };
  return byCalls(server, configuration, calls);
}

interface Kind {
  readonly path: string;
  readonly template: RequestTemplate;
}

/** Callers that draw whether they write or read. */
function byCalls(
  server: Pick<Etcd, 'address' | 'pid'>,
  configuration: Configuration,
  kinds: { readonly writes: Kind; readonly reads: Kind },
): Turns {
  const { writers, readers, writeShare } = configuration;
  const [writes, reads, random] = [new Latencies(), new Latencies(), seeded()];
  const [writeHeaders, readHeaders] = [grpcHeaders(kinds.writes.path), grpcHeaders(kinds.reads.path)];
  const draw = (): DrawnCall =>
    random() < writeShare
      ? { headers: writeHeaders, request: kinds.writes.template.next(), latencies: writes }
      : { headers: readHeaders, request: kinds.reads.template.next(), latencies: reads };
  const load = { address: server.address, clients: writers + readers, headers: writeHeaders, draw };
  const run = (seconds: number): Promise<Sample> =>
    measured({ pids: [server.pid], eventsPerCall: 1 }, { ...load, seconds, request: () => draw().request });
  return { run, ...mixedNote(configuration, { writes, reads }) };
}

async function filled(
  { address, pid }: Pick<Etcd, 'address' | 'pid'>,
  path: string,
  { template, events }: { readonly template: RequestTemplate; readonly events: number },
): Promise<void> {
  const counted = { pids: [pid], eventsPerCall: PER_TRANSACTION };
  await fill(counted, { address, path, request: () => template.next() }, events / PER_TRANSACTION);
}

async function postgres(server: Postgres, configuration: Configuration): Promise<Turns> {
  const { name, writers, readers, writeShare, eventBytes, batch, before, streams } = configuration;
  const table = name.replaceAll('-', '_');
  await loadTable(server, { table, events: before.events, subjects: before.streams, eventBytes });
  const [writes, reads] = [new Latencies(), new Latencies()];
  const kinds = [
    {
      text: drawnInsertScript(table, pgbenchDraw(configuration, streams), eventBytes),
      share: writeShare,
      kept: writes,
    },
    {
      text: drawnSubjectScript(table, pgbenchDraw(configuration, before.streams), batch),
      share: 1 - writeShare,
      kept: reads,
    },
  ].filter(({ share }) => share > 0);
  const scripts = kinds.map(({ text, share }) => ({ text, weight: Math.round(share * 100) }));
  const run = async (seconds: number): Promise<Sample> => {
    const sample = await measuredPgbench(server, { scripts, clients: writers + readers, seconds, eventsPerCall: 1 });
    for (const [i, { kept }] of kinds.entries()) kept.addAll(sample.byScript[i]);
    return sample;
  };
  return { run, ...mixedNote(configuration, { writes, reads }) };
}

function drawing({ distribution, streams }: Configuration): () => number {
  return distribution === 'zipf' ? zipf(streams, ZIPF) : uniform(streams);
}

/** Draws a stream that certainly has events. */
function drawingBefore({ distribution, before }: Configuration): () => number {
  const count = Math.max(1, before.streams);
  return distribution === 'zipf' ? zipf(count, ZIPF) : uniform(count);
}

function pgbenchDraw({ distribution }: Configuration, streams: number): string {
  return distribution === 'zipf' ? `random_zipfian(1, ${streams}, ${ZIPF}) - 1` : `random(0, ${streams - 1})`;
}

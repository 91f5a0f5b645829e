/**
 * The benches of UmaDB (umadb-benches): a database with many initial events, payloads of a few bytes, clients in
 * lock-step waves, and the condition that a tag has no event after the initial ones. The tag is a stream here; UmaDB's
 * 20 seconds per point are --seconds, and its million events are --events.
 *
 * PostgreSQL runs without lock step, because pgbench has no waves. etcd has no conditions on many events, so its
 * condition is that a key does not exist.
 */
import type { Arena } from '../arena.ts';
import { type CairnNode, createDatabase, QUERY_EVENTS, subjectQueries, TRANSACT } from '../peers/cairn.ts';
import { ETCD_TXN, etcdConditionalPuts } from '../peers/etcd.ts';
import { measuredPgbench, type Postgres, postgresBin, psql } from '../peers/postgres.ts';
import { loadTable } from '../peers/postgres-events.ts';
import { closedLoop } from '../support/closed-loop.ts';
import { grpcHeaders } from '../support/http2-connection.ts';
import { measured, measuredRun } from '../support/measured.ts';
import { bytesField, message, varintField } from '../support/protobuf.ts';
import { COUNTER_MARKER, RequestTemplate } from '../support/request-template.ts';
import type { Contender, Sample, Workload } from '../support/sample.ts';
import { waves } from '../support/waves.ts';
import type { Named, Preparation } from './named.ts';

interface Point {
  readonly clients: number;
  readonly events: number;
}

const DATABASE = 'umadb';
const TABLE = 'umadb';
const PER_TRANSACTION = 100;
const EVENTS_PER_SUBJECT = 10;
/** Bytes of UmaDB's payloads, `data-0` and so on. */
const PAYLOAD_BYTES = 6;
const READERS = 4;
const DURABLE = 'fdatasync before the answer';
const CONDITIONAL: readonly Point[] = [
  ...[1, 4, 16, 64, 256].map((clients) => ({ clients, events: 1 })),
  { clients: 64, events: 10 },
  { clients: 64, events: 100 },
];
const PLAIN: readonly Point[] = [1, 4, 16, 64, 256].map((clients) => ({ clients, events: 1 }));
const WITH_READERS: readonly Point[] = [1, 64].map((clients) => ({ clients, events: 1 }));
const READING = [1, 4, 16, 64];

interface Filled {
  readonly arena: Arena;
  readonly events: number;
  readonly node: CairnNode;
  readonly postgres: { readonly server: Postgres; readonly bin: string } | undefined;
}

const filling = new WeakMap<Arena, Promise<Filled>>();

export function umadb(): readonly Named[] {
  const suites = ['umadb'] as const;
  return [
    {
      name: 'uma-append-cond',
      suites,
      prepare: async (run) => {
        const filled = await filledOnce(run);
        return Promise.all(CONDITIONAL.map((point) => appending(filled, point, { isConditional: true })));
      },
    },
    {
      name: 'uma-append',
      suites,
      prepare: async (run) => {
        const filled = await filledOnce(run);
        return Promise.all(PLAIN.map((point) => appending(filled, point, { isConditional: false })));
      },
    },
    {
      name: 'uma-append-with-readers',
      suites,
      prepare: async (run) => {
        const filled = await filledOnce(run);
        return WITH_READERS.map((point) => withReaders(filled, point));
      },
    },
    {
      name: 'uma-read-cond',
      suites,
      prepare: async (run) => {
        const filled = await filledOnce(run);
        return READING.map((clients) => reading(filled, clients));
      },
    },
  ];
}

function filledOnce({ arena, events }: Preparation): Promise<Filled> {
  const begun = filling.get(arena) ?? fill(arena, events);
  filling.set(arena, begun);
  return begun;
}

/** Creates the initial events; each transaction is a revision. */
async function fill(arena: Arena, events: number): Promise<Filled> {
  const node = await arena.cairn();
  await createDatabase(node, DATABASE);
  const subjects = events / EVENTS_PER_SUBJECT;
  const one = bytesField(1, event('init', bytesField(5, `subject-${COUNTER_MARKER}`)));
  const template = request(
    Array.from({ length: PER_TRANSACTION }, () => one),
    {
      firstCounter: 0,
      markersPerNumber: 2,
      shown: (number, place) => (place === 0 ? number : number % subjects),
    },
  );
  const load = { address: node.address, headers: grpcHeaders(TRANSACT), clients: 16, seconds: 0 };
  const calls = events / PER_TRANSACTION;
  const { failed } = await closedLoop({ ...load, calls, request: () => template.next() });
  if (failed > 0) throw new Error(`${failed} transactions failed while loading`);
  const [server, bin] = [await arena.postgres(), postgresBin()];
  if (server === undefined || bin === undefined) return { arena, events, node, postgres: undefined };
  await loadTable(bin, server, { table: TABLE, stream: 'init', events, subjects, eventBytes: PAYLOAD_BYTES });
  psql(bin, server, `CREATE INDEX ${TABLE}_stream ON ${TABLE} (stream, position)`);
  return { arena, events, node, postgres: { server, bin } };
}

async function appending(
  filled: Filled,
  point: Point,
  { isConditional }: { readonly isConditional: boolean },
): Promise<Workload> {
  const condition = isConditional ? ', none with the tag of the events before after them' : '';
  return {
    name: `uma-append${isConditional ? '-cond' : ''}-${point.clients}x${point.events}`,
    what: `Transactions of ${point.events === 1 ? 'one event' : `${point.events} events`} in lock-step waves${condition}, ${filled.events} events before.`,
    unit: 'events',
    clients: point.clients,
    eventBytes: PAYLOAD_BYTES,
    contenders: [
      { peer: 'cairn', durability: DURABLE, run: inWaves(filled, point, { isConditional }) },
      ...(await etcdInWaves(filled, point)),
      ...postgresAppends(filled, point, { isConditional }),
    ],
  };
}

function inWaves(
  { arena, node, events }: Filled,
  { clients, events: perTransaction }: Point,
  { isConditional }: { readonly isConditional: boolean },
): Contender['run'] {
  const one = bytesField(1, event('append', Buffer.alloc(0)));
  const selector = bytesField(1, 'init');
  const unchanged = bytesField(
    2,
    bytesField(2, message(varintField(1, events / PER_TRANSACTION), bytesField(2, selector))),
  );
  const parts = [...Array.from({ length: perTransaction }, () => one), ...(isConditional ? [unchanged] : [])];
  const template = request(parts, { firstCounter: arena.numbers(), markersPerNumber: 1 });
  const load = { address: node.address, headers: grpcHeaders(TRANSACT), clients, request: () => template.next() };
  return (seconds) =>
    measuredRun({ pids: [node.pid], eventsPerCall: perTransaction }, () => waves({ ...load, seconds }));
}

async function etcdInWaves({ arena }: Filled, { clients, events }: Point): Promise<readonly Contender[]> {
  const etcd = await arena.etcd();
  if (etcd === undefined) return [];
  const puts = etcdConditionalPuts(events, PAYLOAD_BYTES, arena.numbers());
  const load = { address: etcd.address, headers: grpcHeaders(ETCD_TXN), clients, request: () => puts.next() };
  const run = (seconds: number): Promise<Sample> =>
    measuredRun({ pids: [etcd.pid], eventsPerCall: events }, () => waves({ ...load, seconds }));
  return [{ peer: 'etcd, key absent', durability: DURABLE, run }];
}

function postgresAppends(
  { events, postgres }: Filled,
  { clients, events: perTransaction }: Point,
  { isConditional }: { readonly isConditional: boolean },
): readonly Contender[] {
  // PostgreSQL's default max_connections is 100.
  if (postgres === undefined || clients > 100) return [];
  const later = `stream = 'init' AND position > ${events}`;
  const condition = isConditional ? ` WHERE NOT EXISTS (SELECT FROM ${TABLE} WHERE ${later})` : '';
  const text = `INSERT INTO ${TABLE} (id, stream, type, data) SELECT 'new-' || nextval('subjects'), 'append', 'bench-append', '\\x646174612d30' FROM generate_series(1, ${perTransaction})${condition};\n`;
  const load = { scripts: [{ text }], clients, eventsPerCall: perTransaction };
  const run = async (seconds: number): Promise<Sample> => {
    // Updates the statistics; otherwise the planner would ignore the new events and scan them by primary key.
    psql(postgres.bin, postgres.server, `ANALYZE ${TABLE}`);
    return measuredPgbench(postgres.bin, postgres.server, { ...load, seconds });
  };
  return [{ peer: 'postgresql, pgbench', durability: 'fsync on, synchronous_commit on', run }];
}

/** Measures appends while other clients read. */
function withReaders(filled: Filled, point: Point): Workload {
  const { node, events } = filled;
  const append = inWaves(filled, point, { isConditional: true });
  const queries = subjectQueries(DATABASE, (number) => number % (events / EVENTS_PER_SUBJECT));
  const readers = { address: node.address, headers: grpcHeaders(QUERY_EVENTS), clients: READERS };
  const run = async (seconds: number): Promise<Sample> => {
    const reads = closedLoop({ ...readers, seconds, request: () => queries.next() });
    const [sample] = await Promise.all([append(seconds), reads]);
    return sample;
  };
  return {
    name: `uma-append-with-readers-${point.clients}`,
    what: `Transactions of one event in lock-step waves while ${READERS} others read the ten events of one subject; times are those of the transactions.`,
    unit: 'events',
    clients: point.clients,
    eventBytes: PAYLOAD_BYTES,
    contenders: [{ peer: 'cairn', durability: DURABLE, run }],
  };
}

function reading({ node, events }: Filled, clients: number): Workload {
  const queries = subjectQueries(DATABASE, (number) => number % (events / EVENTS_PER_SUBJECT));
  const load = { address: node.address, headers: grpcHeaders(QUERY_EVENTS), clients, request: () => queries.next() };
  const counted = { pids: [node.pid], eventsPerCall: EVENTS_PER_SUBJECT };
  const run = (seconds: number): Promise<Sample> => measured(counted, { ...load, seconds });
  return {
    name: `uma-read-cond-${clients}`,
    what: `The ten events of one tag (a subject here) among ${events}.`,
    unit: 'events',
    clients,
    eventBytes: PAYLOAD_BYTES,
    contenders: [{ peer: 'cairn', durability: 'reads', run }],
  };
}

function event(stream: string, further: Buffer): Buffer {
  const head = [bytesField(1, `id-${COUNTER_MARKER}`), bytesField(2, '1.0'), bytesField(3, `bench-${stream}`)];
  return message(...head, bytesField(4, `https://example.com/${stream}`), further, bytesField(7, 'data-0'));
}

function request(
  parts: readonly Buffer[],
  numbering: ConstructorParameters<typeof RequestTemplate>[1],
): RequestTemplate {
  return new RequestTemplate(message(bytesField(1, DATABASE), bytesField(2, message(...parts))), numbering);
}

/**
 * The benches of UmaDB (umadb-benches): a database with many initial events, payloads of a few bytes, clients in
 * lock-step waves, and the condition that a tag has no event after the initial ones. The tag is a stream here; UmaDB's
 * 20 seconds per point are --seconds, and its million events are --events.
 *
 * PostgreSQL runs without lock step, because pgbench has no waves. etcd has no conditions on many events, so its
 * condition is that a key does not exist.
 */
import { contenderOf, OncePerServer } from '../arena.ts';
import { type CairnNode, createDatabase, QUERY_EVENTS, subjectQueries, TRANSACT } from '../peers/cairn.ts';
import { ETCD_TXN, type Etcd, etcdConditionalPuts } from '../peers/etcd.ts';
import { measuredPgbench, type Postgres, psql } from '../peers/postgres.ts';
import { loadTable } from '../peers/postgres-events.ts';
import { UMADB_APPEND, UMADB_READ, type Umadb, umadbSubjects, umadbTag } from '../peers/umadb.ts';
import { closedLoop } from '../support/closed-loop.ts';
import { grpcHeaders } from '../support/http2-connection.ts';
import { closedTurns, fill, measuredRun } from '../support/measured.ts';
import { bytesField, message, varintField } from '../support/protobuf.ts';
import { COUNTER_MARKER, RequestTemplate } from '../support/request-template.ts';
import type { Contender, Sample, Turns, Workload } from '../support/sample.ts';
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
const CONDITIONAL: readonly Point[] = [
  ...[1, 4, 16, 64, 256].map((clients) => ({ clients, events: 1 })),
  { clients: 64, events: 10 },
  { clients: 64, events: 100 },
];
const PLAIN: readonly Point[] = [1, 4, 16, 64, 256].map((clients) => ({ clients, events: 1 }));
const WITH_READERS: readonly Point[] = [1, 64].map((clients) => ({ clients, events: 1 }));
const READING = [1, 4, 16, 64];

interface Condition {
  readonly isConditional: boolean;
}

const fillings = new OncePerServer();

export function umadb(): readonly Named[] {
  const named = (name: string, prepare: Named['prepare']): Named => ({ name, suites: ['umadb'], prepare });
  return [
    named('uma-append-cond', (run) => CONDITIONAL.map((point) => appending(run, point, { isConditional: true }))),
    named('uma-append', (run) => PLAIN.map((point) => appending(run, point, { isConditional: false }))),
    named('uma-append-with-readers', (run) => WITH_READERS.map((point) => withReaders(run, point))),
    named('uma-read-cond', (run) => READING.map((clients) => reading(run, clients))),
  ];
}

function appending(run: Preparation, point: Point, { isConditional }: Condition): Workload {
  const { arena, events } = run;
  const condition = isConditional ? ', none with the tag of the events before after them' : '';
  return {
    name: `uma-append${isConditional ? '-cond' : ''}-${point.clients}x${point.events}`,
    what: `Transactions of ${point.events === 1 ? 'one event' : `${point.events} events`} in lock-step waves${condition}, ${events} events before.`,
    unit: 'events',
    clients: point.clients,
    eventBytes: PAYLOAD_BYTES,
    contenders: [
      contenderOf(arena.node, (node) => cairnWaves(run, node, { point, isConditional })),
      ...arena.umadbs.map((peer) =>
        contenderOf(peer, async (server) => {
          await filledUmadb(server, events);
          return inWaves(server, UMADB_APPEND, { point, template: umadbAppends(point, events, { isConditional }) });
        }),
      ),
      ...arena.etcds.map((peer) =>
        contenderOf(peer, (server) => {
          const template = etcdConditionalPuts(point.events, PAYLOAD_BYTES, arena.numbers());
          return inWaves(server, ETCD_TXN, { point, template });
        }),
      ),
      ...postgresAppends(run, point, { isConditional }),
    ],
  };
}

interface Waves {
  readonly point: Point;
  readonly template: { next(): Buffer };
}

function inWaves(
  { pid, address }: Pick<Etcd, 'pid' | 'address'>,
  path: string,
  { point: { clients, events }, template }: Waves,
): Turns {
  const load = { address, headers: grpcHeaders(path), clients, request: () => template.next() };
  const counted = { pids: [pid], eventsPerCall: events };
  return { run: (seconds) => measuredRun(counted, () => waves({ ...load, seconds })) };
}

async function cairnWaves(
  { arena, events }: Preparation,
  node: CairnNode,
  { point, isConditional }: { readonly point: Point } & Condition,
): Promise<Turns> {
  await filledCairn(node, events);
  const one = bytesField(1, event('append', Buffer.alloc(0)));
  const tag = bytesField(2, bytesField(1, 'init'));
  const unchanged = bytesField(2, bytesField(2, message(varintField(1, events / PER_TRANSACTION), tag)));
  const parts = [...Array.from({ length: point.events }, () => one), ...(isConditional ? [unchanged] : [])];
  const template = request(parts, { firstCounter: arena.numbers(), markersPerNumber: 1 });
  return inWaves(node, TRANSACT, { point, template });
}

/** Creates the initial events; each transaction is a revision. */
async function filledCairn(node: CairnNode, events: number): Promise<void> {
  await fillings.do(node, async ({ pid, address }) => {
    await createDatabase(node, DATABASE);
    const subjects = events / EVENTS_PER_SUBJECT;
    const one = bytesField(1, event('init', bytesField(5, `subject-${COUNTER_MARKER}`)));
    const numbering = {
      firstCounter: 0,
      markersPerNumber: 2,
      shown: (number: number, place: number) => (place === 0 ? number : number % subjects),
    };
    const template = request(
      Array.from({ length: PER_TRANSACTION }, () => one),
      numbering,
    );
    const calls = { address, path: TRANSACT, request: () => template.next() };
    await fill({ pids: [pid], eventsPerCall: PER_TRANSACTION }, calls, events / PER_TRANSACTION);
  });
}

async function filledUmadb(server: Umadb, events: number): Promise<void> {
  await fillings.do(server, async ({ pid, address }) => {
    const subjects = events / EVENTS_PER_SUBJECT;
    const one = bytesField(1, umadbEvent('init', `subject-${COUNTER_MARKER}`));
    const shown = (number: number): number => number % subjects;
    const all = message(...Array.from({ length: PER_TRANSACTION }, () => one));
    const template = new RequestTemplate(all, { firstCounter: 0, markersPerNumber: 1, shown });
    const calls = { address, path: UMADB_APPEND, request: () => template.next() };
    await fill({ pids: [pid], eventsPerCall: PER_TRANSACTION }, calls, events / PER_TRANSACTION);
  });
}

function umadbAppends({ events: count }: Point, events: number, { isConditional }: Condition): RequestTemplate {
  const all = Array.from({ length: count }, () => bytesField(1, umadbEvent('append')));
  const unchanged = bytesField(2, message(bytesField(1, umadbTag('init')), varintField(2, events)));
  const body = message(...all, ...(isConditional ? [unchanged] : []));
  return new RequestTemplate(body, { firstCounter: 0, markersPerNumber: 1 });
}

function umadbEvent(...tags: readonly string[]): Buffer {
  return message(bytesField(1, 'bench'), ...tags.map((tag) => bytesField(2, tag)), bytesField(3, 'data-0'));
}

async function filledPostgres(server: Postgres, events: number): Promise<void> {
  await fillings.do(server, async () => {
    const subjects = events / EVENTS_PER_SUBJECT;
    await loadTable(server, { table: TABLE, stream: 'init', events, subjects, eventBytes: PAYLOAD_BYTES });
    await psql(server, `CREATE INDEX ${TABLE}_stream ON ${TABLE} (stream, position)`);
  });
}

function postgresAppends(
  { arena, events }: Preparation,
  { clients, events: perTransaction }: Point,
  { isConditional }: Condition,
): readonly Contender[] {
  // PostgreSQL's default max_connections is 100.
  if (clients > 100) return [];
  const later = `stream = 'init' AND position > ${events}`;
  const condition = isConditional ? ` WHERE NOT EXISTS (SELECT FROM ${TABLE} WHERE ${later})` : '';
  const text = `INSERT INTO ${TABLE} (id, stream, type, data) SELECT 'new-' || nextval('subjects'), 'append', 'bench-append', '\\x646174612d30' FROM generate_series(1, ${perTransaction})${condition};\n`;
  const load = { scripts: [{ text }], clients, eventsPerCall: perTransaction };
  return arena.postgreses.map((peer) =>
    contenderOf(peer, async (server) => {
      await filledPostgres(server, events);
      const run = async (seconds: number): Promise<Sample> => {
        // Updates the statistics; otherwise the planner would ignore the new events and scan them by primary key.
        await psql(server, `ANALYZE ${TABLE}`);
        return measuredPgbench(server, { ...load, seconds });
      };
      return { run };
    }),
  );
}

/** Measures appends while other clients read. */
function withReaders(run: Preparation, point: Point): Workload {
  const turns = async (node: CairnNode): Promise<Turns> => {
    const append = await cairnWaves(run, node, { point, isConditional: true });
    const { address, request: next } = subjectReads(node, run.events);
    const readers = { address, headers: grpcHeaders(QUERY_EVENTS), clients: READERS, request: next };
    return {
      run: async (seconds) => {
        const [sample] = await Promise.all([append.run(seconds), closedLoop({ ...readers, seconds })]);
        return sample;
      },
    };
  };
  return {
    name: `uma-append-with-readers-${point.clients}`,
    what: `Transactions of one event in lock-step waves while ${READERS} others read the ten events of one subject; times are those of the transactions.`,
    unit: 'events',
    clients: point.clients,
    eventBytes: PAYLOAD_BYTES,
    contenders: [contenderOf(run.arena.node, turns)],
  };
}

function reading({ arena, events }: Preparation, clients: number): Workload {
  const counted = (pid: number): Parameters<typeof closedTurns>[0] => ({
    pids: [pid],
    eventsPerCall: EVENTS_PER_SUBJECT,
  });
  return {
    name: `uma-read-cond-${clients}`,
    what: `The ten events of one tag (a subject here) among ${events}.`,
    unit: 'events',
    clients,
    eventBytes: PAYLOAD_BYTES,
    contenders: [
      contenderOf(arena.node, async (node) => {
        await filledCairn(node, events);
        return closedTurns(counted(node.pid), { ...subjectReads(node, events), path: QUERY_EVENTS, clients });
      }),
      ...arena.umadbs.map((peer) =>
        contenderOf(peer, async (server) => {
          await filledUmadb(server, events);
          const template = umadbSubjects((number) => number % (events / EVENTS_PER_SUBJECT));
          const calls = { address: server.address, path: UMADB_READ, clients, request: () => template.next() };
          return closedTurns(counted(server.pid), calls);
        }),
      ),
    ],
  };
}

function subjectReads(
  { address }: CairnNode,
  events: number,
): Pick<Parameters<typeof closedTurns>[1], 'address' | 'request'> {
  const queries = subjectQueries(DATABASE, (number) => number % (events / EVENTS_PER_SUBJECT));
  return { address, request: () => queries.next() };
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

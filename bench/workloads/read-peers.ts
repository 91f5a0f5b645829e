/** The peers with the same events as a loaded node, and the same reads of them. */
import { type Arena, contenderOf, OncePerServer, type Peer } from '../arena.ts';
import { ETCD_RANGE, ETCD_TXN, type Etcd, etcdEvents, etcdRanges, etcdSpreadPuts } from '../peers/etcd.ts';
import { measuredPgbench, type PgbenchLoad, type Postgres } from '../peers/postgres.ts';
import { drawnPositionScript, loadTable, scanScript, subjectScript } from '../peers/postgres-events.ts';
import { UMADB_APPEND, UMADB_READ, type Umadb, umadbAppends, umadbFrom, umadbSubjects } from '../peers/umadb.ts';
import { uniform } from '../support/draws.ts';
import { grpcHeaders, grpcMessage } from '../support/http2-connection.ts';
import { Latencies } from '../support/latencies.ts';
import { closedTurns, fill, measured } from '../support/measured.ts';
import type { Contender, Sample, Turns } from '../support/sample.ts';

export interface EventsShape {
  readonly events: number;
  readonly subjects: number;
  readonly eventBytes: number;
}

const TABLE = 'stored';
const PREFIX = 'stored-';
const EVENTS_PER_CALL = 100;
const SUBJECTS_PER_RANGE = 500;

/** The reads of each peer, once it has the events. */
interface Reads {
  readonly etcd: (etcd: Etcd) => Turns;
  readonly umadb: (umadb: Umadb) => Turns;
  readonly postgres: Omit<PgbenchLoad, 'seconds'> & { readonly eventsPerCall: number };
}

/** Reads the events of one subject; each call moves on by `stride` subjects. */
export function peerSelectorReads(
  arena: Arena,
  shape: EventsShape,
  { clients, stride }: { readonly clients: number; readonly stride: number },
): readonly Contender[] {
  const subjectOf = (number: number): number => (number * stride) % shape.subjects;
  const { script, variables } = subjectScript({ ...shape, table: TABLE }, stride);
  return reading(arena, shape, {
    etcd: (etcd) => calls(etcd, ETCD_RANGE, { clients, template: etcdRanges({ prefix: PREFIX, subjectOf }) }),
    umadb: (umadb) => calls(umadb, UMADB_READ, { clients, template: umadbSubjects(subjectOf) }),
    postgres: { scripts: [script], variables, clients, eventsPerCall: 1 },
  });
}

/** Reads one event by its number. */
export function peerSingleReads(arena: Arena, shape: EventsShape, clients: number): readonly Contender[] {
  const draw = uniform(shape.events);
  const subjectOf = (number: number): number => number % shape.subjects;
  const positions = { next: () => grpcMessage(umadbFrom(1 + draw(), 1)) };
  return reading(arena, shape, {
    etcd: (etcd) => calls(etcd, ETCD_RANGE, { clients, template: etcdEvents({ prefix: PREFIX, subjectOf }, draw) }),
    umadb: (umadb) => calls(umadb, UMADB_READ, { clients, template: positions }),
    postgres: { scripts: [drawnPositionScript(TABLE, shape.events)], clients, eventsPerCall: 1 },
  });
}

/** Reads all events: in PostgreSQL with a cursor in one transaction, in etcd range by range. */
export function peerScans(arena: Arena, shape: EventsShape): readonly Contender[] {
  return reading(arena, shape, {
    etcd: (etcd) => ({ run: () => scanRanges(etcd, shape) }),
    umadb: ({ pid, address }) => {
      const load = { address, headers: grpcHeaders(UMADB_READ), clients: 1, seconds: 0, calls: 1 };
      const request = (): Buffer => grpcMessage(umadbFrom(1, 0));
      return { run: () => measured({ pids: [pid], eventsPerCall: shape.events }, { ...load, request }) };
    },
    postgres: {
      scripts: [scanScript({ ...shape, table: TABLE })],
      clients: 1,
      transactions: 1,
      eventsPerCall: shape.events,
    },
  });
}

function reading(arena: Arena, shape: EventsShape, { etcd, umadb, postgres }: Reads): readonly Contender[] {
  return [
    ...arena.etcds.map((peer) =>
      contenderOf(
        loaded(peer, (server) => loadKeys(server, shape)),
        etcd,
      ),
    ),
    ...arena.umadbs.map((peer) =>
      contenderOf(
        loaded(peer, (server) => loadUmadb(server, shape)),
        umadb,
      ),
    ),
    ...arena.postgreses.map((peer) =>
      contenderOf(
        loaded(peer, (server) => loadTable(server, { ...shape, table: TABLE })),
        (server) => ({ run: (seconds) => measuredPgbench(server, { ...postgres, seconds }) }),
      ),
    ),
  ];
}

const loads = new OncePerServer();

/** The peer with the events. */
function loaded<Server extends Etcd | Umadb | Postgres>(
  peer: Peer<Server>,
  load: (server: Server) => Promise<void>,
): Peer<Server> {
  return { ...peer, server: async () => loads.do(await peer.server(), load) };
}

function calls(
  { pid, address }: Etcd | Umadb,
  path: string,
  { clients, template }: { readonly clients: number; readonly template: { next(): Buffer } },
): Turns {
  return closedTurns({ pids: [pid], eventsPerCall: 1 }, { address, path, clients, request: () => template.next() });
}

async function scanRanges({ pid, address }: Etcd, shape: EventsShape): Promise<Sample> {
  const ranges = etcdRanges({
    prefix: PREFIX,
    subjectOf: (number) => number * SUBJECTS_PER_RANGE,
    subjects: SUBJECTS_PER_RANGE,
  });
  const count = Math.ceil(shape.subjects / SUBJECTS_PER_RANGE);
  const load = { address, headers: grpcHeaders(ETCD_RANGE), clients: 1, seconds: 0, calls: count };
  const server = { pids: [pid], eventsPerCall: shape.events / count };
  const sample = await measured(server, { ...load, request: () => ranges.next() });
  // Counts as one scan, regardless of the number of ranges.
  const latencies = new Latencies();
  latencies.add(sample.seconds * 1000);
  return { ...sample, latencies };
}

async function loadKeys({ pid, address }: Etcd, shape: EventsShape): Promise<void> {
  const puts = etcdSpreadPuts(EVENTS_PER_CALL, {
    prefix: PREFIX,
    subjectOf: (number) => number % shape.subjects,
    valueBytes: shape.eventBytes,
  });
  const server = { pids: [pid], eventsPerCall: EVENTS_PER_CALL };
  await fill(server, { address, path: ETCD_TXN, request: () => puts.next() }, shape.events / EVENTS_PER_CALL);
}

async function loadUmadb({ pid, address }: Umadb, { events, subjects, eventBytes }: EventsShape): Promise<void> {
  const subjectOf = (number: number): number => number % subjects;
  const appends = umadbAppends({ events: EVENTS_PER_CALL, eventBytes, conditional: false, subjectOf }, 0);
  const server = { pids: [pid], eventsPerCall: EVENTS_PER_CALL };
  await fill(server, { address, path: UMADB_APPEND, request: () => appends.next() }, events / EVENTS_PER_CALL);
}

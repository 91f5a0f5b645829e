/** etcd and PostgreSQL with the same events as a loaded node, and the same reads of them. */
import type { Arena } from '../arena.ts';
import { ETCD_RANGE, ETCD_TXN, type Etcd, etcdRanges, etcdSpreadPuts } from '../peers/etcd.ts';
import { measuredPgbench, type Postgres, postgresBin } from '../peers/postgres.ts';
import { loadTable, scanScript, subjectScript } from '../peers/postgres-events.ts';
import { grpcHeaders } from '../support/http2-connection.ts';
import { Latencies } from '../support/latencies.ts';
import { measured } from '../support/measured.ts';
import type { Contender, Sample } from '../support/sample.ts';

export interface EventsShape {
  readonly events: number;
  readonly subjects: number;
  readonly eventBytes: number;
}

/** The installed peers. */
export interface LoadedPeers {
  readonly shape: EventsShape;
  readonly etcd: Etcd | undefined;
  readonly postgres: { readonly server: Postgres; readonly bin: string } | undefined;
}

const TABLE = 'stored';
const PREFIX = 'stored-';
const PUTS_PER_TXN = 100;
const SUBJECTS_PER_PAGE = 500;
const DURABILITY = 'reads';

export async function loadedPeers(arena: Arena, shape: EventsShape): Promise<LoadedPeers> {
  const etcd = await arena.etcd();
  if (etcd !== undefined) await loadKeys(etcd, shape);
  const [server, bin] = [await arena.postgres(), postgresBin()];
  const postgres = server === undefined || bin === undefined ? undefined : { server, bin };
  if (postgres !== undefined) await loadTable(postgres.bin, postgres.server, { ...shape, table: TABLE });
  return { shape, etcd, postgres };
}

/** Reads the events of one subject; each call moves on by `stride` subjects. */
export function peerSelectorReads(
  { shape, etcd, postgres }: LoadedPeers,
  clients: number,
  stride: number,
): readonly Contender[] {
  const contenders: Contender[] = [];
  if (postgres !== undefined) {
    const { script, variables } = subjectScript({ ...shape, table: TABLE }, stride);
    const load = { scripts: [script], variables, clients, eventsPerCall: 1 };
    const run = async (seconds: number): Promise<Sample> =>
      measuredPgbench(postgres.bin, postgres.server, { ...load, seconds });
    contenders.push({ peer: 'postgresql, pgbench', durability: DURABILITY, run });
  }
  if (etcd !== undefined) {
    const ranges = etcdRanges({ prefix: PREFIX, subjectOf: (number) => (number * stride) % shape.subjects });
    const load = { address: etcd.address, headers: grpcHeaders(ETCD_RANGE), clients, request: () => ranges.next() };
    const run = (seconds: number): Promise<Sample> =>
      measured({ pids: [etcd.pid], eventsPerCall: 1 }, { ...load, seconds });
    contenders.push({ peer: 'etcd, keys of one prefix', durability: DURABILITY, run });
  }
  return contenders;
}

/** Reads all events: in PostgreSQL with a cursor in one transaction, in etcd range by range. */
export function peerScans({ shape, etcd, postgres }: LoadedPeers): readonly Contender[] {
  const contenders: Contender[] = [];
  if (postgres !== undefined) {
    const load = {
      scripts: [scanScript({ ...shape, table: TABLE })],
      clients: 1,
      transactions: 1,
      eventsPerCall: shape.events,
    };
    const run = async (seconds: number): Promise<Sample> =>
      measuredPgbench(postgres.bin, postgres.server, { ...load, seconds });
    contenders.push({ peer: 'postgresql, cursor', durability: DURABILITY, run });
  }
  if (etcd !== undefined) {
    contenders.push({ peer: 'etcd, ranges of 5,000', durability: DURABILITY, run: () => scanRanges(etcd, shape) });
  }
  return contenders;
}

async function scanRanges(etcd: Etcd, shape: EventsShape): Promise<Sample> {
  const ranges = etcdRanges({
    prefix: PREFIX,
    subjectOf: (number) => number * SUBJECTS_PER_PAGE,
    subjects: SUBJECTS_PER_PAGE,
  });
  const calls = Math.ceil(shape.subjects / SUBJECTS_PER_PAGE);
  const load = { address: etcd.address, headers: grpcHeaders(ETCD_RANGE), clients: 1, seconds: 0, calls };
  const server = { pids: [etcd.pid], eventsPerCall: shape.events / calls };
  const sample = await measured(server, { ...load, request: () => ranges.next() });
  // Counts as one scan, regardless of the number of ranges.
  const latencies = new Latencies();
  latencies.add(sample.seconds * 1000);
  return { ...sample, latencies };
}

async function loadKeys(etcd: Etcd, shape: EventsShape): Promise<void> {
  const puts = etcdSpreadPuts(PUTS_PER_TXN, {
    prefix: PREFIX,
    subjectOf: (number) => number % shape.subjects,
    valueBytes: shape.eventBytes,
  });
  const load = { address: etcd.address, headers: grpcHeaders(ETCD_TXN), clients: 16, seconds: 0 };
  const server = { pids: [etcd.pid], eventsPerCall: PUTS_PER_TXN };
  const calls = shape.events / PUTS_PER_TXN;
  const { failed } = await measured(server, { ...load, calls, request: () => puts.next() });
  if (failed > 0) throw new Error(`${failed} transactions of etcd failed while loading`);
}

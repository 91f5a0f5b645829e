/** Read workloads on a database with many events: full scans, one by one and in batches, and reads by selector. */
import { join } from 'node:path';
import type { Arena } from '../arena.ts';
import {
  appendRequests,
  type Build,
  type CairnNode,
  createDatabase,
  QUERY_EVENTS,
  SCAN_LOG,
  SCAN_LOG_BATCHES,
  scanRequest,
  subjectQueries,
  TRANSACT,
} from '../peers/cairn.ts';
import { grpcHeaders } from '../support/http2-connection.ts';
import { measured } from '../support/measured.ts';
import type { Contender, Sample, Workload } from '../support/sample.ts';
import { type EventsShape, type LoadedPeers, peerScans, peerSelectorReads } from './read-peers.ts';

/** Name of the database of a loaded node. */
export const DATABASE = 'loaded';
const EVENT_BYTES = 256;
const EVENTS_PER_TRANSACTION = 100;
const EVENTS_PER_SUBJECT = 10;
const DURABILITY = 'reads';

/** `near`: a hundred consecutive reads find their events in the same pages. `far`: hardly any do. */
export type SubjectOrder = 'near' | 'far';
/** The far stride is prime, so that it reaches every subject. */
const STRIDES: Readonly<Record<SubjectOrder, number>> = { near: 1, far: 61_813 };

export interface LoadedNode {
  readonly node: CairnNode;
  /** Data directory of the node. */
  readonly directory: string;
  readonly events: number;
}

/** Starts a node with a database of `events` events, ten per subject and spread over the whole log. */
export async function loadedNode(arena: Arena, events: number, build?: Build): Promise<LoadedNode> {
  const name = `loaded-${events}`;
  const node = await arena.cairn(name, build);
  await loadEvents(node, events);
  return { node, directory: join(arena.dir, name), events };
}

/** Creates and fills the database of a loaded node. */
export async function loadEvents(node: CairnNode, events: number): Promise<Sample> {
  await createDatabase(node, DATABASE);
  const shape = {
    database: DATABASE,
    events: EVENTS_PER_TRANSACTION,
    eventBytes: EVENT_BYTES,
    conditional: false,
    subjectOf: (number: number) => number % (events / EVENTS_PER_SUBJECT),
  };
  const template = appendRequests(shape, 0);
  const server = { pids: [node.pid], eventsPerCall: EVENTS_PER_TRANSACTION };
  const loaded = await measured(server, {
    address: node.address,
    headers: grpcHeaders(TRANSACT),
    clients: 16,
    seconds: 0,
    calls: events / EVENTS_PER_TRANSACTION,
    request: () => template.next(),
  });
  if (loaded.failed > 0) throw new Error(`${loaded.failed} transactions failed while loading`);
  return loaded;
}

/** Shape of the same events for the peers. */
export function shapeOf(events: number): EventsShape {
  return { events, subjects: events / EVENTS_PER_SUBJECT, eventBytes: EVENT_BYTES };
}

export function scanWorkloads(loaded: LoadedNode, peers?: LoadedPeers): readonly [scan: Workload, batches: Workload] {
  const scan = (peer: string, path: string): Contender => ({
    peer,
    durability: DURABILITY,
    run: () =>
      measured(
        { pids: [loaded.node.pid], eventsPerCall: loaded.events },
        {
          address: loaded.node.address,
          headers: grpcHeaders(path),
          clients: 1,
          seconds: 0,
          calls: 1,
          request: () => scanRequest(DATABASE),
        },
      ),
  });
  const shared = { unit: 'events', clients: 1, eventBytes: EVENT_BYTES };
  const what = `The whole log of ${loaded.events} events, forward,`;
  const others = peers === undefined ? [] : peerScans(peers);
  return [
    {
      ...shared,
      name: 'scan',
      what: `${what} one event a message.`,
      contenders: [scan('ScanDatabaseLog', SCAN_LOG), ...others],
    },
    {
      ...shared,
      name: 'scan-batches',
      what: `${what} in batches.`,
      contenders: [scan('ScanLogBatches', SCAN_LOG_BATCHES), ...others],
    },
  ];
}

export function selectorWorkload(
  loaded: LoadedNode,
  clients: number,
  { order = 'near', peers }: { readonly order?: SubjectOrder; readonly peers?: LoadedPeers } = {},
): Workload {
  const others = peers === undefined ? [] : peerSelectorReads(peers, clients, STRIDES[order]);
  const after = order === 'near' ? '' : ' The next subject is in other pages.';
  return {
    name: `selector-read-${clients}${order === 'near' ? '' : '-far'}`,
    what: `The ${EVENTS_PER_SUBJECT} events of one subject among ${loaded.events} events.${after}`,
    unit: 'reads',
    clients,
    eventBytes: EVENT_BYTES,
    contenders: [selectorReads('QueryEvents', loaded, clients, order), ...others],
  };
}

/** Reads all events of one subject; each read uses another subject than the previous one. */
export function selectorReads(
  peer: string,
  loaded: LoadedNode,
  clients: number,
  order: SubjectOrder = 'near',
): Contender {
  const [subjects, stride] = [loaded.events / EVENTS_PER_SUBJECT, STRIDES[order]];
  const template = subjectQueries(DATABASE, (number) => (number * stride) % subjects);
  const server = { pids: [loaded.node.pid], eventsPerCall: 1 };
  const load = { address: loaded.node.address, headers: grpcHeaders(QUERY_EVENTS), clients };
  return {
    peer,
    durability: DURABILITY,
    run: (seconds) => measured(server, { ...load, seconds, request: () => template.next() }),
  };
}

/** Read workloads on a database with many events: scans, reads by selector, and reads of single events. */
import { type Arena, OncePerServer } from '../arena.ts';
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
import { uniform } from '../support/draws.ts';
import { grpcHeaders, grpcMessage } from '../support/http2-connection.ts';
import { closedTurns, fill, measured } from '../support/measured.ts';
import { bytesField, message, varintField } from '../support/protobuf.ts';
import type { RequestTemplate } from '../support/request-template.ts';
import type { Contender, Sample, Turns, Workload } from '../support/sample.ts';
import { type EventsShape, peerScans, peerSelectorReads, peerSingleReads } from './read-peers.ts';

/** Name of the database of a loaded node. */
export const DATABASE = 'loaded';
/** Name of the database with one event per transaction. */
const SINGLES = 'singles';
const EVENT_BYTES = 256;
const EVENTS_PER_TRANSACTION = 100;
const EVENTS_PER_SUBJECT = 10;

/** `near`: a hundred consecutive reads find their events in the same places. `far`: hardly any do. */
export type SubjectOrder = 'near' | 'far';
/** The far stride is prime, so that it reaches every subject. */
const STRIDES: Readonly<Record<SubjectOrder, number>> = { near: 1, far: 61_813 };

export interface LoadedNode {
  readonly node: CairnNode;
  readonly events: number;
}

export interface Loaded {
  readonly arena: Arena;
  readonly events: number;
}

const loads = new OncePerServer();
const singles = new OncePerServer();

/** Directory of the node with this number of events. */
export function loadedDirectory({ arena, events }: Loaded): string {
  return arena.at(`loaded-${events}`);
}

/** The node with a database of `events` events, ten per subject and spread over the whole log. */
export async function loadedNode(arena: Arena, events: number, build?: Build): Promise<LoadedNode> {
  const node = await arena.cairn(`loaded-${events}`, build);
  await loads.do(node, () => loadEvents(node, events));
  return { node, events };
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
  const calls = { address: node.address, path: TRANSACT, request: () => template.next() };
  return fill(server, calls, events / EVENTS_PER_TRANSACTION);
}

/** Shape of the same events for the peers. */
function shapeOf(events: number): EventsShape {
  return { events, subjects: events / EVENTS_PER_SUBJECT, eventBytes: EVENT_BYTES };
}

export function scanWorkloads(loaded: Loaded): readonly Workload[] {
  const shared = { unit: 'events', clients: 1, eventBytes: EVENT_BYTES };
  const what = `The whole log of ${loaded.events} events, forward,`;
  const peers = peerScans(loaded.arena, shapeOf(loaded.events));
  const scan = (path: string): Contender => cairn(loaded, (node) => scans(node, path));
  return [
    { ...shared, name: 'scan', what: `${what} one event a message.`, contenders: [scan(SCAN_LOG), ...peers] },
    { ...shared, name: 'scan-batches', what: `${what} in batches.`, contenders: [scan(SCAN_LOG_BATCHES), ...peers] },
  ];
}

/** One scan is one turn. */
export function scans({ node, events }: LoadedNode, path: string): Turns {
  const load = { address: node.address, headers: grpcHeaders(path), clients: 1, seconds: 0, calls: 1 };
  const server = { pids: [node.pid], eventsPerCall: events };
  return { run: () => measured(server, { ...load, request: () => scanRequest(DATABASE) }) };
}

export function selectorWorkload(loaded: Loaded, clients: number, order: SubjectOrder): Workload {
  const shape = shapeOf(loaded.events);
  const own = cairn(loaded, (node) => selectorReads(node, clients, order));
  return {
    name: `selector-read-${clients}${order === 'near' ? '' : '-far'}`,
    what: `The ${EVENTS_PER_SUBJECT} events of one subject among ${loaded.events} events, those of the next one in ${order === 'near' ? 'the same' : 'other'} places.`,
    unit: 'reads',
    clients,
    eventBytes: EVENT_BYTES,
    contenders: [own, ...peerSelectorReads(loaded.arena, shape, { clients, stride: STRIDES[order] })],
  };
}

/** Reads all events of one subject; each read uses another subject than the previous one. */
export function selectorReads({ node, events }: LoadedNode, clients: number, order: SubjectOrder = 'near'): Turns {
  const template = subjectReads(events, order);
  const calls = { address: node.address, path: QUERY_EVENTS, clients, request: () => template.next() };
  return closedTurns({ pids: [node.pid], eventsPerCall: 1 }, calls);
}

/** Queries for all events of one subject among `events` loaded ones, each for another subject. */
export function subjectReads(events: number, order: SubjectOrder): RequestTemplate {
  const [subjects, stride] = [events / EVENTS_PER_SUBJECT, STRIDES[order]];
  return subjectQueries(DATABASE, (number) => (number * stride) % subjects);
}

/** Reads one event by its revision or position, drawn at random. */
export function singleReadWorkload(loaded: Loaded, clients: number): Workload {
  const { arena, events } = loaded;
  const own = cairn(loaded, async ({ node }) => {
    await singles.do(node, () => loadSingles(node, events));
    const draw = uniform(events);
    // The event of a revision: the log from there on, at most one event.
    const request = (): Buffer =>
      grpcMessage(message(bytesField(1, SINGLES), varintField(2, 1 + draw()), varintField(4, 1)));
    return closedTurns(
      { pids: [node.pid], eventsPerCall: 1 },
      { address: node.address, path: SCAN_LOG, clients, request },
    );
  });
  return {
    name: `single-read-${clients}`,
    what: `One event by its revision, drawn among ${events}; a revision has one event.`,
    unit: 'reads',
    clients,
    eventBytes: EVENT_BYTES,
    contenders: [own, ...peerSingleReads(arena, shapeOf(events), clients)],
  };
}

async function loadSingles(node: CairnNode, events: number): Promise<void> {
  await createDatabase(node, SINGLES);
  const template = appendRequests({ database: SINGLES, events: 1, eventBytes: EVENT_BYTES, conditional: false }, 0);
  const calls = { address: node.address, path: TRANSACT, request: () => template.next(), clients: 256 };
  await fill({ pids: [node.pid], eventsPerCall: 1 }, calls, events);
}

function cairn(loaded: Loaded, open: (node: LoadedNode) => Turns | Promise<Turns>): Contender {
  const { arena, events } = loaded;
  return { peer: 'cairn', directory: loadedDirectory(loaded), open: async () => open(await loadedNode(arena, events)) };
}

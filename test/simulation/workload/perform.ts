/** Executes each call of a client on the service of a node, and converts the reply for the history. */
import { encodeUtf8, instantFromMs, type Revision, toRevision } from '#base';
import { DATA_KIND, encodeEvent, Faults, NO_OPTIONS, ORIGIN } from '#model';
import type { DatabaseDescription, ReadAt, Service, Shown } from '#service';
import type { CallKind, Calls, EventSketch, ReadRequest, Scope } from '../history.ts';
import type { Work } from '../node/sim-relay.ts';
import { eventSeen, transactionSeen, transactValue } from './decode.ts';

/** Abort signal, and the minimum revision in addition to that of the request. */
type Asked = Pick<Work, 'signal' | 'shown'>;

type Performers = {
  readonly [Kind in CallKind]: (
    service: Service,
    request: Calls[Kind]['request'],
    asked: Asked,
  ) => Promise<Calls[Kind]['value']>;
};

const PERFORMERS: Performers = {
  transact: async (service, { name, transactionId, constraints, events, minRevision }, { signal }) => {
    const encoded = events.map(encodeSketch);
    const floor = minRevision === undefined ? undefined : { minRevision: toRevision(minRevision), signal };
    const reply = await service.transact({
      databaseName: name,
      transactionId,
      floor,
      origin: ORIGIN.GRPC_TRANSACTION,
      options: NO_OPTIONS,
      constraints,
      events: encoded,
      eventCount: encoded.length,
      eventBytes: encoded.reduce((sum, { length }) => sum + length, 0),
      faults: new Faults(),
      fields: { transactionId: 'transaction_id', events: 'events', constraints: 'constraints' },
    });
    return transactValue(reply);
  },
  create: async (service, { name }) => {
    const { databaseId, revision, createdAtMs } = await service.createDatabase({ databaseName: name });
    return { databaseId, revision, createdAtMs };
  },
  delete: async (service, { name, databaseId }) => {
    const reply = await service.deleteDatabase({
      databaseName: name,
      ...(databaseId === undefined ? {} : { databaseId }),
    });
    return { databaseId: reply.kind === 'deleted' ? reply.databaseId : undefined };
  },
  list: async (service, _request, { signal }) => {
    const databases = await service.listDatabases({ signal });
    return databases.map(({ databaseName: name, databaseId, revision = toRevision(0) }) => {
      return { name, ...scopeOf({ databaseId, revision }) };
    });
  },
  describe: async (service, request, asked) => descriptionOf(await service.databaseAt(readOf(request, asked))),
  asOf: async (service, { name, timeMs }, asked) => {
    const request = { databaseName: name, timestamp: instantFromMs(timeMs), ...waitOf(asked) };
    return descriptionOf(await service.databaseAtTimestamp(request));
  },
  query: async (service, request, asked) => {
    const reply = await service.queryEvents({ ...readOf(request, asked), query: request.query });
    const events = await gathered(reply.chunks);
    return { ...scopeOf(reply), events: events.map(eventSeen) };
  },
  fetch: async (service, { name, transactionId }, asked) => {
    const reply = await service.fetchTransaction({ databaseName: name, transactionId, ...waitOf(asked) });
    return { ...scopeOf(reply), transaction: transactionSeen(reply.transaction.record) };
  },
  log: async (service, { name, start, direction, limit }, asked) => {
    const request = { databaseName: name, startRevision: toRevision(start), direction, limit, ...waitOf(asked) };
    const reply = await service.scanLogBatches(request);
    return {
      ...scopeOf(reply),
      transactions: (await gathered(reply.batches)).map(({ bytes }) => transactionSeen(bytes)),
    };
  },
  await: async (service, { name, revision }, asked) => {
    const request = { databaseName: name, revision: toRevision(revision), ...waitOf(asked) };
    return scopeOf(await service.awaitDatabase(request));
  },
  event: async (service, request, asked) => {
    const { stream, id } = request;
    const reply = await service.singleEvent({ ...readOf(request, asked), event: { kind: 'id', stream, id } });
    return { ...scopeOf(reply), event: eventSeen(reply.event) };
  },
  names: async (service, request, asked) => {
    const listing = { ...readOf(request, asked), limit: 1000 };
    const list = {
      streams: () => service.listStreams(listing),
      subjects: () => service.listSubjects(listing),
      types: () => service.listEventTypes(listing),
    };
    const reply = await list[request.of]();
    return { ...scopeOf(reply), names: reply.names.map(({ name, firstRevision }) => [name, firstRevision]) };
  },
};

export function perform<Kind extends CallKind>(
  kind: Kind,
  service: Service,
  request: Calls[Kind]['request'],
  asked: Asked,
): Promise<Calls[Kind]['value']> {
  return PERFORMERS[kind](service, request, asked);
}

function encodeSketch({ id, stream, type, subject, timeMs, text, zeros }: EventSketch): Uint8Array {
  const words = encodeUtf8(text);
  const data = new Uint8Array(words.length + zeros);
  data.set(words);
  const time = timeMs === undefined ? undefined : { instant: instantFromMs(timeMs) };
  const event = { id, specVersion: '1.0', type, source: `/streams/${stream}`, subject, time };
  return encodeEvent({ ...event, data, dataKind: DATA_KIND.BINARY, extensions: new Map() });
}

interface ServiceWait {
  readonly minRevision?: Revision;
  readonly shown?: Shown;
  readonly signal: AbortSignal;
}

interface ServiceRead extends ServiceWait {
  readonly databaseName: string;
  readonly at: ReadAt;
}

function readOf({ name, at, minRevision }: ReadRequest, asked: Asked): ServiceRead {
  return { databaseName: name, at: typeof at === 'number' ? toRevision(at) : at, ...waitOf(asked, minRevision) };
}

function waitOf({ signal, shown }: Asked, minRevision?: number): ServiceWait {
  return {
    signal,
    ...(shown !== undefined && { shown }),
    ...(minRevision !== undefined && { minRevision: toRevision(minRevision) }),
  };
}

function scopeOf({ databaseId, revision }: Scope): Scope {
  return { databaseId, revision };
}

function descriptionOf(description: DatabaseDescription): Calls['describe']['value'] {
  const { createdAtMs, basis, revisionTimeMs, eventCount, chainHash, latestRevision } = description;
  const hash = Buffer.from(chainHash).toString('hex');
  return { ...scopeOf(description), createdAtMs, basis, revisionTimeMs, eventCount, chainHash: hash, latestRevision };
}

async function gathered<Item>(chunks: AsyncIterable<readonly Item[]>): Promise<readonly Item[]> {
  const items: Item[] = [];
  for await (const chunk of chunks) items.push(...chunk);
  return items;
}

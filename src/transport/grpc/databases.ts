/** The methods that create, delete and list databases, and describe one at a revision or a time. */
import { instantFromMs, toAskedRevision } from '#base';
import type { DatabaseDescription, ListedDatabase } from '#service';
import {
  CreateDatabaseReply,
  Database,
  DatabaseReply,
  FetchCatalogReply,
} from '../../../proto/gen/cairn/v1/database.ts';
import { RELAYED } from '../relay.ts';
import { reading, sentInstant } from '../request-reader.ts';
import { tracedAs } from './call-traces.ts';
import type { GrpcContext } from './metadata.ts';
import { floorsOf, requiresLeader, writeOf } from './metadata.ts';
import { type Answer, EMPTY, shape, unary, WRITE } from './unary.ts';
import type { UnaryMethod } from './wire/method.ts';

export function databaseMethods(context: GrpcContext): readonly UnaryMethod[] {
  return [...catalogMethods(context), ...descriptionMethods(context)];
}

function catalogMethods({ service, leaderTrailers }: GrpcContext): readonly UnaryMethod[] {
  return [
    unary(shape('CreateDatabase', CreateDatabaseReply, WRITE), async ({ databaseName, copies }, call) => {
      const requireLeader = requiresLeader(call);
      const created = await service.createDatabase({ databaseName, copies, requireLeader, ...tracedAs(call) });
      return { message: { database: messageOf(created) }, scope: created, trailers: leaderTrailers.of() };
    }),
    unary(shape('DeleteDatabase', EMPTY, WRITE), async ({ databaseName, databaseId }, call) => {
      const instance = databaseId === undefined ? {} : { databaseId };
      const reply = await service.deleteDatabase({ databaseName, ...instance, ...writeOf(call) });
      const scope = reply.kind === 'deleted' ? { scope: { databaseId: reply.databaseId } } : {};
      return { message: {}, ...scope, trailers: leaderTrailers.of() };
    }),
    unary(
      { name: 'FetchCatalog', parse: reading('google.protobuf.Empty'), reply: FetchCatalogReply },
      async (_request, call) => {
        const heldOnly = call.header(RELAYED) !== undefined;
        const databases = await service.listDatabases({ signal: call.signal, heldOnly, ...tracedAs(call) });
        return { message: { databases: databases.map(messageOf) } };
      },
    ),
  ];
}

function descriptionMethods({ service }: GrpcContext): readonly UnaryMethod[] {
  return [
    unary(shape('FetchLatestDatabase', DatabaseReply), async ({ databaseName }, call) =>
      answerOf(await service.databaseAt({ databaseName, at: 'latest', signal: call.signal, ...floorsOf(call) })),
    ),
    unary(shape('FetchDatabaseAtRevision', DatabaseReply), async ({ databaseName, revision }, call) => {
      const at = toAskedRevision(revision);
      return answerOf(await service.databaseAt({ databaseName, at, signal: call.signal, ...floorsOf(call) }));
    }),
    unary(shape('DatabaseEffectiveAtTimestamp', DatabaseReply), async ({ databaseName, atTimestamp }, call) => {
      const instant = sentInstant(atTimestamp, 'at_timestamp');
      const read = { databaseName, timestamp: instant, signal: call.signal, ...floorsOf(call) };
      return answerOf(await service.databaseAtTimestamp(read));
    }),
    unary(shape('AwaitDatabase', DatabaseReply, { waits: true }), async ({ databaseName, atRevision }, call) => {
      const revision = toAskedRevision(atRevision);
      const awaited = { databaseName, revision, signal: call.signal, ...floorsOf(call) };
      return answerOf(await service.awaitDatabase(awaited));
    }),
  ];
}

function answerOf(description: DatabaseDescription): Answer<DatabaseReply> {
  return { message: { database: messageOf(description) }, scope: description };
}

function messageOf(description: ListedDatabase): Database {
  const { databaseName: name, databaseId, createdAtMs } = description;
  const known = { name, databaseId, createdAt: instantFromMs(createdAtMs) };
  if (description.revision === undefined) return Database.fromPartial(known);
  const { latestRevision, revision, basis, eventCount } = description;
  return {
    ...known,
    latestRevision,
    revision,
    basis,
    revisionTimestamp: instantFromMs(description.revisionTimeMs),
    eventCount,
    chainHash: Buffer.from(description.chainHash),
  };
}

/** The methods that create, delete and list databases, and describe one at a revision or a time. */
import { instantFromMs, toAskedRevision } from '#base';
import type { DatabaseDescription } from '#service';
import {
  CreateDatabaseReply,
  type Database,
  DatabaseReply,
  FetchCatalogReply,
} from '../../../proto/gen/cairn/v1/database.ts';
import { RELAYED } from '../relay.ts';
import { reading } from '../request-reader.ts';
import { tracedAs } from './call-traces.ts';
import type { GrpcContext } from './context.ts';
import { EMPTY } from './messages.ts';
import { floorOf, floorsOf, refuseRelayed, requiresLeader } from './metadata.ts';
import { sentInstant } from './sent-instant.ts';
import { type Answer, unary } from './unary.ts';
import type { UnaryMethod } from './wire/method.ts';

export function databaseMethods(context: GrpcContext): readonly UnaryMethod[] {
  return [...catalogMethods(context), ...descriptionMethods(context)];
}

function catalogMethods({ service, leaderTrailers }: GrpcContext): readonly UnaryMethod[] {
  return [
    unary(
      {
        name: 'CreateDatabase',
        parse: reading('cairn.v1.CreateDatabaseRequest'),
        reply: CreateDatabaseReply,
        traits: { mustAnswer: true },
      },
      async ({ databaseName }, call) => {
        const requireLeader = requiresLeader(call);
        const created = await service.createDatabase({ databaseName, requireLeader, ...tracedAs(call) });
        return { message: { database: messageOf(created) }, scope: created, trailers: leaderTrailers.of() };
      },
    ),
    unary(
      {
        name: 'DeleteDatabase',
        parse: reading('cairn.v1.DeleteDatabaseRequest'),
        reply: EMPTY,
        traits: { mustAnswer: true },
      },
      async ({ databaseName, databaseId }, call) => {
        const requireLeader = requiresLeader(call);
        if (requireLeader) refuseRelayed(call);
        const instance = databaseId === undefined ? {} : { databaseId };
        const reply = await service.deleteDatabase({
          databaseName,
          ...instance,
          requireLeader,
          floor: floorOf(call),
          ...tracedAs(call),
        });
        const scope = reply.kind === 'deleted' ? { scope: { databaseId: reply.databaseId } } : {};
        return { message: {}, ...scope, trailers: leaderTrailers.of() };
      },
    ),
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
    unary(
      { name: 'FetchLatestDatabase', parse: reading('cairn.v1.FetchLatestDatabaseRequest'), reply: DatabaseReply },
      async ({ databaseName }, call) =>
        answerOf(await service.databaseAt({ databaseName, at: 'latest', signal: call.signal, ...floorsOf(call) })),
    ),
    unary(
      {
        name: 'FetchDatabaseAtRevision',
        parse: reading('cairn.v1.FetchDatabaseAtRevisionRequest'),
        reply: DatabaseReply,
      },
      async ({ databaseName, revision }, call) => {
        const at = toAskedRevision(revision);
        return answerOf(await service.databaseAt({ databaseName, at, signal: call.signal, ...floorsOf(call) }));
      },
    ),
    unary(
      {
        name: 'DatabaseEffectiveAtTimestamp',
        parse: reading('cairn.v1.DatabaseEffectiveAtTimestampRequest'),
        reply: DatabaseReply,
      },
      async ({ databaseName, atTimestamp }, call) => {
        const instant = sentInstant(atTimestamp, 'at_timestamp');
        const read = { databaseName, timestamp: instant, signal: call.signal, ...floorsOf(call) };
        return answerOf(await service.databaseAtTimestamp(read));
      },
    ),
    unary(
      {
        name: 'AwaitDatabase',
        parse: reading('cairn.v1.AwaitDatabaseRequest'),
        reply: DatabaseReply,
        traits: { waits: true },
      },
      async ({ databaseName, atRevision }, call) => {
        const revision = toAskedRevision(atRevision);
        const awaited = { databaseName, revision, signal: call.signal, ...floorsOf(call) };
        return answerOf(await service.awaitDatabase(awaited));
      },
    ),
  ];
}

function answerOf(description: DatabaseDescription): Answer<DatabaseReply> {
  return { message: { database: messageOf(description) }, scope: description };
}

function messageOf(description: DatabaseDescription): Database {
  const { databaseName, latestRevision, databaseId, createdAtMs, revision, basis, eventCount } = description;
  return {
    name: databaseName,
    latestRevision,
    databaseId,
    createdAt: instantFromMs(createdAtMs),
    revision,
    basis,
    revisionTimestamp: instantFromMs(description.revisionTimeMs),
    eventCount,
    chainHash: Buffer.from(description.chainHash),
  };
}

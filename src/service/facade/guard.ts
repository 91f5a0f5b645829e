/**
 * The service with the rights of a principal.
 *
 *   V16  With authentication on, no operation starts unless its principal has the right to it (permissions.ts). A
 *        refusal depends only on the request and the grants, before anything is looked up: whether a database exists,
 *        or where, does not change the answer.
 *   V17  A stream ends before its next slice when its principal is no longer valid.
 */
import type { Principal } from '#auth';
import { DatabaseError, quote } from '#base';
import {
  ALL_DATABASES,
  boundsOf,
  formatGrant,
  type Grant,
  hasRight,
  hasRightOnAll,
  hasRightOnAny,
  RIGHTS_OF_ROLE,
  type Right,
} from '#model';
import type { DatabaseDescription, ListDatabasesRequest } from '../operations.ts';
import { type Operation, PERMISSIONS } from './permissions.ts';
import type { Service } from './service.ts';
import { signing } from './signature.ts';

export function guardService(service: Service, principal: Principal): Service {
  const allow = allowing(principal);
  const everywhere = allowingEverywhere(principal);
  const signed = signing(principal);
  return {
    ...service,
    createDatabase: allow('createDatabase', (request) =>
      service.createDatabase({ ...request, bounds: boundsOf(principal.grants, request.databaseName) }),
    ),
    deleteDatabase: allow('deleteDatabase', service.deleteDatabase),
    listDatabases: (request) => listed(service, principal, request),
    databaseAt: allow('databaseAt', service.databaseAt),
    databaseAtTimestamp: allow('databaseAtTimestamp', service.databaseAtTimestamp),
    awaitDatabase: allow('awaitDatabase', service.awaitDatabase),
    transact: allow('transact', (request) => service.transact(signed(request))),
    fetchTransaction: allow('fetchTransaction', service.fetchTransaction),
    queryEvents: allow('queryEvents', async (request) => {
      const reply = await service.queryEvents(request);
      return { ...reply, chunks: whileItHolds(principal, reply.chunks) };
    }),
    scanLog: allow('scanLog', async (request) => {
      const reply = await service.scanLog(request);
      return { ...reply, chunks: whileItHolds(principal, reply.chunks) };
    }),
    scanLogBatches: allow('scanLogBatches', async (request) => {
      const reply = await service.scanLogBatches(request);
      return { ...reply, batches: whileItHolds(principal, reply.batches) };
    }),
    subscribe: allow('subscribe', async (request) => {
      const reply = await service.subscribe(request);
      return { ...reply, items: whileItHolds(principal, reply.items) };
    }),
    listStreams: allow('listStreams', service.listStreams),
    listSubjects: allow('listSubjects', service.listSubjects),
    listEventTypes: allow('listEventTypes', service.listEventTypes),
    singleEvent: allow('singleEvent', service.singleEvent),
    publishComponent: allow('publishComponent', service.publishComponent),
    setVersionStatus: allow('setVersionStatus', service.setVersionStatus),
    deleteVersions: allow('deleteVersions', service.deleteVersions),
    expireSnapshots: allow('expireSnapshots', service.expireSnapshots),
    findVersion: allow('findVersion', service.findVersion),
    listVersions: allow('listVersions', service.listVersions),
    executeCommand: allow('executeCommand', (request) => service.executeCommand(signed(request))),
    decideCommand: allow('decideCommand', service.decideCommand),
    openStateView: allow('openStateView', async (request) => {
      const opened = await service.openStateView(request);
      return { ...opened, mayRefold: hasRight(principal.grants, 'deploy', request.databaseName) };
    }),
    issueApiKey: everywhere('issueApiKey', (request) => {
      refuseToken(principal, 'issue API keys');
      return service.issueApiKey({ ...request, issuedBy: principal.id });
    }),
    listApiKeys: everywhere('listApiKeys', service.listApiKeys),
    findApiKey: everywhere('findApiKey', service.findApiKey),
    rotateApiKey: everywhere('rotateApiKey', (request) => {
      refuseToken(principal, 'rotate API keys');
      return service.rotateApiKey(request);
    }),
    revokeApiKey: everywhere('revokeApiKey', service.revokeApiKey),
    ...tokens(service, principal),
    describeCluster: everywhere('describeCluster', service.describeCluster),
    administerCluster: everywhere('administerCluster', service.administerCluster),
    // The address of a leader reveals that the database exists.
    leader: (name) => service.leader(name !== undefined && mayRead(principal, name) ? name : undefined),
  } satisfies Record<Operation, unknown> & Service;
}

/** An operation on one database. */
type OnDatabase<Request, Reply> = (request: Request) => Promise<Reply>;

function allowing(
  principal: Principal,
): <Request extends { readonly databaseName: string }, Reply>(
  operation: Operation,
  run: OnDatabase<Request, Reply>,
) => OnDatabase<Request, Reply> {
  return (operation, run) => async (request) => {
    const right = PERMISSIONS[operation];
    if (hasRight(principal.grants, right, request.databaseName)) return run(request);
    throw denied(principal, `the right to ${right} on the database ${quote(request.databaseName)}`);
  };
}

function allowingEverywhere(
  principal: Principal,
): <Request, Reply>(
  operation: Operation,
  run: (request: Request) => Promise<Reply>,
) => (request: Request) => Promise<Reply> {
  return (operation, run) => async (request) => {
    const right = PERMISSIONS[operation];
    if (hasRightOnAll(principal.grants, right)) return run(request);
    throw denied(principal, `the right to ${right} on all databases`);
  };
}

/** Lists only databases that the principal may read, and does not reveal whether there are others. */
async function listed(
  service: Service,
  principal: Principal,
  request: ListDatabasesRequest,
): Promise<readonly DatabaseDescription[]> {
  const right = PERMISSIONS.listDatabases;
  if (!hasRightOnAny(principal.grants, right)) throw denied(principal, `the right to ${right} on any database`);
  const all = await service.listDatabases({ ...request, proof: principal.proof() });
  return all.filter(({ databaseName }) => hasRight(principal.grants, right, databaseName));
}

type TokenOperations = Pick<Service, 'issueToken' | 'listTokens' | 'findToken' | 'revokeToken'>;

/** A principal manages its own tokens; an administrator of all databases manages all tokens. */
function tokens(service: Service, principal: Principal): TokenOperations {
  const { id, keyId, expiresAtMs, grants } = principal;
  const of = hasRightOnAll(grants, 'administer') ? undefined : id;
  const allow =
    <Request, Reply>(operation: keyof TokenOperations, run: (request: Request) => Promise<Reply>) =>
    async (request: Request): Promise<Reply> => {
      const right = PERMISSIONS[operation];
      if (hasRightOnAny(grants, right)) return run(request);
      throw denied(principal, `the right to ${right} on any database`);
    };
  return {
    issueToken: allow('issueToken', (request) => {
      refuseToken(principal, 'issue tokens');
      for (const grant of request.grants) refuseBeyond(principal, grant);
      return service.issueToken({ ...request, issuer: { id, keyId, expiresAtMs } });
    }),
    listTokens: allow('listTokens', (request) => service.listTokens({ ...request, of })),
    findToken: allow('findToken', (request) => service.findToken({ ...request, of })),
    revokeToken: allow('revokeToken', (request) => service.revokeToken({ ...request, of })),
  };
}

function refuseBeyond({ id, name, grants }: Principal, grant: Grant): void {
  const { role, databases } = grant;
  const lacking = RIGHTS_OF_ROLE[role].find((right) => !covers(grants, right, grant));
  if (lacking === undefined) return;
  const what = `the right to ${lacking} on ${databases === ALL_DATABASES ? 'all databases' : quote(databases)}`;
  const message = `${quote(name)} (${id}) lacks ${what} as ${formatGrant(grant)} gives it, so its tokens cannot have it`;
  throw new DatabaseError('permission_denied', message, { details: { reason: 'RightLacking' } });
}

/**
 * Returns whether an own grant includes the requested one. A pattern includes another one if it matches the other as a
 * name: only a `*` matches a `*`. A quota includes the same or a smaller number for the same pattern only, because
 * other patterns count other databases.
 */
function covers(own: readonly Grant[], right: Right, { databases, databasesMax = Infinity }: Grant): boolean {
  const isWithin = (grant: Grant): boolean =>
    grant.databasesMax === undefined || (grant.databases === databases && databasesMax <= grant.databasesMax);
  const grants = right === 'administer' ? own.filter(isWithin) : own;
  return databases === ALL_DATABASES ? hasRightOnAll(grants, right) : hasRight(grants, right, databases);
}

/** A token must not create anything that outlives it. */
function refuseToken(principal: Principal, what: string): void {
  if (principal.issuer === undefined) return;
  const message = `${quote(principal.name)} (${principal.id}) is a token, and tokens do not ${what}; ${quote(principal.issuer)} may`;
  throw new DatabaseError('permission_denied', message, { details: { reason: 'RightLacking' } });
}

function mayRead({ grants }: Principal, database: string): boolean {
  return hasRight(grants, 'read', database);
}

async function* whileItHolds<Slice>(principal: Principal, slices: AsyncIterable<Slice>): AsyncGenerator<Slice> {
  for await (const slice of slices) {
    if (!principal.holds()) throw ended();
    yield slice;
  }
}

function ended(): DatabaseError {
  const message = 'The credential of this stream is no longer valid';
  return new DatabaseError('unauthenticated', message, { details: { reason: 'CredentialRefused' } });
}

function denied({ id, name }: Principal, what: string): DatabaseError {
  const message = `${quote(name)} (${id}) lacks ${what}`;
  return new DatabaseError('permission_denied', message, { details: { reason: 'RightLacking' } });
}

/**
 * The service with the rights of a principal.
 *
 *   V16  With authentication on, no operation starts unless its principal has the right to it (permissions.ts). A
 *        refusal depends only on the request and the grants, before anything is looked up: whether a database exists,
 *        or where, does not change the answer.
 *   V17  A stream ends before its next slice when its principal is no longer valid.
 *   V20  With authentication on, principal_attributes that begin with `cairn.` are written only by the node that has
 *        authenticated the client; such attributes from a client are dropped.
 */
import type { Principal } from '#auth';
import { DatabaseError, quote } from '#base';
import {
  ALL_DATABASES,
  boundsOf,
  type Faults,
  formatGrant,
  type Grant,
  hasRight,
  hasRightOnAll,
  hasRightOnAny,
  PRINCIPAL_ATTRIBUTES_MAX,
  RIGHTS_OF_ROLE,
  type Right,
  type TransactionOptions,
} from '#model';
import { isWithoutDatabase, OPERATIONS, type Operation, PERMISSIONS, SCOPES } from './permissions.ts';
import type { Service } from './service.ts';

export function guardService(service: Service, principal: Principal): Service {
  const inner = actingFor(principal, service);
  return {
    ...inner,
    ...checked(inner, principal),
    // The address of a leader reveals that the database exists.
    leader: (name) => service.leader(name !== undefined && hasRight(principal.grants, 'read', name) ? name : undefined),
  };
}

/** The operations, each of which starts only with its right. */
function checked(service: Service, principal: Principal): Pick<Service, Operation>;
function checked(
  service: Readonly<Record<Operation, (request: never) => Promise<unknown>>>,
  principal: Principal,
): object {
  return Object.fromEntries(OPERATIONS.map((name) => [name, checkedOne(principal, name, service[name])]));
}

function checkedOne<Request extends { readonly databaseName?: string }, Reply>(
  { id, name, grants }: Principal,
  operation: Operation,
  run: (request: Request) => Promise<Reply>,
): (request: Request) => Promise<Reply> {
  return async (request) => {
    const lacking = rightLacking(grants, operation, request);
    if (lacking === undefined) return run(request);
    throw denied(`${quote(name)} (${id}) lacks ${lacking}`);
  };
}

/** Describes the right that the operation needs; undefined when the grants include it. */
function rightLacking(
  grants: readonly Grant[],
  operation: Operation,
  { databaseName = '' }: { readonly databaseName?: string },
): string | undefined {
  const right = PERMISSIONS[operation];
  if (!isWithoutDatabase(operation)) {
    return hasRight(grants, right, databaseName)
      ? undefined
      : `the right to ${right} on the database ${quote(databaseName)}`;
  }
  const scope = SCOPES[operation];
  const isGranted = (scope === 'all databases' ? hasRightOnAll : hasRightOnAny)(grants, right);
  return isGranted ? undefined : `the right to ${right} on ${scope}`;
}

/** The operations with what they know and hide by the principal. */
function actingFor(principal: Principal, service: Service): Service {
  const { id, keyId, expiresAtMs, grants } = principal;
  const signed = signing(principal);
  // A principal manages its own tokens; an administrator of all databases manages all tokens.
  const of = hasRightOnAll(grants, 'administer') ? undefined : id;
  return {
    ...service,
    createDatabase: (request) => service.createDatabase({ ...request, bounds: boundsOf(grants, request.databaseName) }),
    // Lists only databases that the principal may read, and does not reveal whether there are others.
    listDatabases: async (request) => {
      const all = await service.listDatabases({ ...request, proof: principal.proof() });
      return all.filter(({ databaseName }) => hasRight(grants, PERMISSIONS.listDatabases, databaseName));
    },
    transact: (request) => service.transact(signed(request)),
    executeCommand: (request) => service.executeCommand(signed(request)),
    queryEvents: async (request) => {
      const reply = await service.queryEvents(request);
      return { ...reply, chunks: whileItHolds(principal, reply.chunks) };
    },
    scanLog: async (request) => {
      const reply = await service.scanLog(request);
      return { ...reply, chunks: whileItHolds(principal, reply.chunks) };
    },
    scanLogBatches: async (request) => {
      const reply = await service.scanLogBatches(request);
      return { ...reply, batches: whileItHolds(principal, reply.batches) };
    },
    subscribe: async (request) => {
      const reply = await service.subscribe(request);
      return { ...reply, items: whileItHolds(principal, reply.items) };
    },
    openStateView: async (request) => {
      const opened = await service.openStateView(request);
      return { ...opened, mayRefold: hasRight(grants, 'deploy', request.databaseName) };
    },
    issueApiKey: (request) => {
      refuseToken(principal, 'issue API keys');
      return service.issueApiKey({ ...request, issuedBy: id });
    },
    rotateApiKey: (request) => {
      refuseToken(principal, 'rotate API keys');
      return service.rotateApiKey(request);
    },
    issueToken: (request) => {
      refuseToken(principal, 'issue tokens');
      for (const grant of request.grants) refuseBeyond(principal, grant);
      return service.issueToken({ ...request, issuer: { id, keyId, expiresAtMs } });
    },
    listTokens: (request) => service.listTokens({ ...request, of }),
    findToken: (request) => service.findToken({ ...request, of }),
    revokeToken: (request) => service.revokeToken({ ...request, of }),
  };
}

function refuseBeyond({ id, name, grants }: Principal, grant: Grant): void {
  const { role, databases } = grant;
  const lacking = RIGHTS_OF_ROLE[role].find((right) => !covers(grants, right, grant));
  if (lacking === undefined) return;
  const what = `the right to ${lacking} on ${databases === ALL_DATABASES ? 'all databases' : quote(databases)}`;
  throw denied(`${quote(name)} (${id}) lacks ${what} as ${formatGrant(grant)} gives it, so its tokens cannot have it`);
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
function refuseToken({ id, name, issuer }: Principal, what: string): void {
  if (issuer === undefined) return;
  throw denied(`${quote(name)} (${id}) is a token, and tokens do not ${what}; ${quote(issuer)} may`);
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

function denied(message: string): DatabaseError {
  return new DatabaseError('permission_denied', message, { details: { reason: 'RightLacking' } });
}

const RESERVED = 'cairn.';

/** Requests that the guard signs: transactions and commands. */
interface Signable {
  readonly options: TransactionOptions;
  readonly faults: Faults;
}

/** Records the principal as the author of a transaction, in its principal_attributes. */
function signing(principal: Principal): <Request extends Signable>(request: Request) => Request {
  const { id, name, attributes } = principal;
  const signature = [['id', id] as const, ['name', name] as const, ...attributes].map(
    ([key, value]) => [`${RESERVED}${key}`, value] as const,
  );
  const others = PRINCIPAL_ATTRIBUTES_MAX - signature.length;
  return (request) => {
    const { options, faults } = request;
    const own = [...options.principalAttributes].filter(([key]) => !key.startsWith(RESERVED));
    if (own.length > others) {
      faults.add('principal_attributes', `must be at most ${others} beside those of the principal`, own.length);
    }
    return { ...request, options: { ...options, principalAttributes: new Map([...own, ...signature]) } };
  };
}

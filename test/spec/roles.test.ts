// Every route and RPC is tried with each role: it is allowed or refused as the role table says, also when the database
// does not exist.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { beforeAll, describe, expect, it } from 'vitest';
import { toNodeId } from '#base';
import type { AdminRequest } from '#cluster';
import { EventStoreService } from '../../proto/gen/cairn/v1/event_store.ts';
import { WAYS } from '../../scripts/support/permissions-reference.ts';
import { ROLES } from '../../src/model/access.ts';
import { OPERATIONS, type Operation } from '../../src/service/facade/permissions.ts';
import { ADMIN_METHODS, writeAdminRequest } from '../../src/transport/admin-messages.ts';
import { ROUTES } from '../../src/transport/http/routes.ts';
import { outcomeOf, type StreamName, type UnaryName } from '../support/grpc-client.ts';
import { AS_FIRST, issueKey } from '../support/guarded-node.ts';
import { type Answer, cloudEvent, errorOf, type Sent } from '../support/http-client.ts';
import { ROLE_NAMES, ROLE_TABLE, type RoleName } from '../support/role-table.ts';
import { sharedGuardedNode } from '../support/shared-servers.ts';

const { server, api } = await sharedGuardedNode();
const ABSENT = 'absent-one';
const THERE = 'there-one';
const IN_USE = 'absent-no-more';
const ID = '0193a1b2-c3d4-7e5f-8a9b-100000000000';
const DENIED = { status: 403, code: 'PERMISSION_DENIED' };
/** The operation that creates a database; the others are answered with NOT_FOUND. */
const CREATES = 'createDatabase';

/** Keys by grant: each role on `absent-*`, and on all databases for operations that concern no single database. */
const keys = new Map<string, string>();
beforeAll(async () => {
  for (const each of [THERE, IN_USE]) await api.post('/api/v1/db', { database_name: each }, AS_FIRST);
  for (const role of ROLE_NAMES) {
    for (const grant of [`${role}:absent-*`, role]) {
      keys.set(grant, (await issueKey(api, grant)).key);
    }
  }
});

const isOnAll = (operation: Operation): boolean => /(?:ApiKey|Token)s?$|Cluster$/.test(operation);

function keyOf(role: RoleName, operation: Operation): string {
  return keys.get(isOnAll(operation) ? role : `${role}:absent-*`) ?? '';
}

function may(role: RoleName, operation: Operation): boolean {
  return ROLE_TABLE[operation].roles.includes(role);
}

const STATUSES: Partial<Record<Operation, readonly number[]>> = {
  listDatabases: [200],
  createDatabase: [201],
  // A single node has no cluster.
  describeCluster: [200, 404],
  // Faults of the publication are found before the database is looked up.
  publishComponent: [400],
};

function routesTo(operation: Operation): readonly string[] {
  const { http, within } = WAYS[operation];
  return within === undefined ? http : [...http, within];
}

/** Routes that accept a credential of any role and show no stored data. */
const OF_THE_NODE: ReadonlySet<string> = new Set([
  'GET /health/detailed',
  'GET /api/v1/openapi.json',
  'GET /api/v1/openapi.full.json',
  'GET /api/v1/docs',
  'GET /api/v1/swagger-ui',
]);

const COMMAND = { method: 'POST', path: '/x', body: {} };
const TRANSACTION = { events: [cloudEvent('1')] };

const BODIES: Readonly<Record<string, (database: string) => object>> = {
  'POST /api/v1/db': (database) => ({ database_name: database }),
  'POST /databases': (database) => ({ name: database }),
  'POST /api/v1/db/{database}': () => TRANSACTION,
  'POST /api/v1/db/{database}/async': () => TRANSACTION,
  'POST /databases/{database}/events': () => TRANSACTION,
  'POST /databases/{database}/query': () => ({}),
  'POST /api/v1/db/{database}/{revision}/state-changes/{name}/v{version}': () => ({}),
  'POST /api/v1/db/{database}/state-changes/{name}/v{version}/execute': () => COMMAND,
  'POST /api/v1/databases/{database}/state-changes/{name}/versions/{version}': () => ({}),
  'POST /databases/{database}/state-changes/{name}/process': () => ({ command: {} }),
  'POST /api/v1/auth/keys': () => ({ name: 'of a test', roles: ['reader:absent-*'] }),
  'POST /api/v1/auth/tokens': () => ({ name: 'of a test', roles: ['reader:absent-*'] }),
};

const PLACES: Readonly<Record<string, string>> = {
  transaction_id: ID,
  key_id: '0123456789abcdef',
  token_id: '0123456789abcdef',
};

function pathOf(path: string, database: string): string {
  return path.replaceAll(/\{(\w+)\}/g, (_whole, place: string) =>
    place === 'database' ? database : (PLACES[place] ?? '1'),
  );
}

function send(route: string, database: string, key: string): Promise<Answer> {
  const [method = '', path = ''] = route.split(' ');
  const headers: Record<string, string> = { 'x-api-key': key };
  const sent: Sent = { method, headers };
  const body = BODIES[route]?.(database);
  if (body !== undefined) {
    headers['content-type'] = 'application/json';
    return api.send(pathOf(path, database), { ...sent, body: JSON.stringify(body) });
  }
  if (method !== 'POST' || !/\/(?:state-views|state-changes|presenters)$/.test(path)) {
    return api.send(pathOf(path, database), sent);
  }
  headers['content-type'] = 'multipart/form-data; boundary=b';
  const part = (name: string, content: string): string =>
    `--b\r\ncontent-disposition: form-data; name=${name}\r\n\r\n${content}\r\n`;
  return api.send(pathOf(path, database), { ...sent, body: `${part('metadata', '{}')}${part('wasm', 'x')}--b--\r\n` });
}

describe('SPEC-AUTH-ROLES', () => {
  it('are tried for each role, each route and each call, and each route and call belongs to one operation', () => {
    expect(ROLES.toSorted()).toEqual(ROLE_NAMES.toSorted());
    const ways = OPERATIONS.map((operation) => WAYS[operation]);
    const routes = ROUTES.filter(({ isForAnybody }) => isForAnybody !== true)
      .map(({ method, path }) => `${method} ${path}`)
      .filter((route) => !OF_THE_NODE.has(route));
    expect(ways.flatMap(({ http }) => http).toSorted()).toEqual(routes.toSorted());
    const paths = [...Object.values(EventStoreService).map(({ path }) => path), ...Object.values(ADMIN_METHODS)];
    const calls = paths.map((path) => path.slice(path.lastIndexOf('/') + 1));
    expect(ways.flatMap(({ grpc }) => grpc).toSorted()).toEqual(calls.toSorted());
  });

  it('of each operation are tried by at least one route or call', () => {
    const untried = OPERATIONS.filter((operation) => routesTo(operation).length + WAYS[operation].grpc.length === 0);
    expect(untried).toEqual([]);
  });

  it.each([...OF_THE_NODE])('of any kind allow %s, and it needs one', async (route) => {
    const [, path = ''] = route.split(' ');
    for (const role of ROLE_NAMES) {
      const headers = { 'x-api-key': keys.get(`${role}:absent-*`) ?? '' };
      expect([role, (await api.get(path, headers)).status]).toEqual([role, 200]);
    }
    expect((await api.get(path)).status).toBe(401);
  });
});

describe.each(ROLE_NAMES)('SPEC-AUTH-ROLES over HTTP: %s', (role) => {
  const routes = OPERATIONS.flatMap((operation) => routesTo(operation).map((route) => [route, operation] as const));

  it.each(routes.filter(([, operation]) => may(role, operation)))('may %s', async (route, operation) => {
    const { status, text } = await send(route, ABSENT, keyOf(role, operation));
    const wanted = STATUSES[operation] ?? (isOnAll(operation) ? [200, 201, 404] : [404]);
    expect([wanted.includes(status), status, text]).toEqual([true, status, text]);
    if (operation === CREATES) await api.send(`/api/v1/db/${ABSENT}`, { method: 'DELETE', headers: AS_FIRST });
  });

  it.each(routes.filter(([, operation]) => !may(role, operation)))('may not %s', async (route, operation) => {
    const { details, message } = errorOf(await send(route, ABSENT, keyOf(role, operation)), DENIED);
    expect(details?.reason).toBe('RightLacking');
    expect(message).toContain(`lacks the right to ${ROLE_TABLE[operation].right}`);
  });

  it.each(routes.filter(([route]) => route.includes('{database}')))(
    'learns nothing by %s about databases outside its grants',
    async (route, operation) => {
      const of = async (database: string): Promise<string> => {
        const answer = await send(route, database, keyOf(role, operation));
        errorOf(answer, DENIED);
        const named = ['x-database-id', 'x-revision', 'etag'].filter((header) => answer.headers.get(header) !== null);
        return `${answer.text.replaceAll(database, 'it')} ${named.join()}`;
      };
      expect(await of(THERE)).toBe(await of('nowhere-one'));
    },
  );
});

type Asked = Readonly<Record<string, unknown>>;

const COMMAND_REQUEST = { method: 'POST', path: '/', queryParams: [], headers: [] };

const FIELDS: Readonly<Record<string, Asked>> = {
  Transact: { events: [{ id: '1', specVersion: '1.0', source: 'orders', attributes: {}, type: 't' }] },
  FetchTransaction: { transactionId: ID },
  DatabaseEffectiveAtTimestamp: { atTimestamp: { seconds: 0, nanos: 0 } },
  FetchStateView: { stateViewName: 'v' },
  FetchStateViewAtRevision: { stateViewName: 'v', revision: 1 },
  ActivateStateView: { stateViewName: 'v', version: 1 },
  DeactivateStateView: { stateViewName: 'v', version: 1 },
  ActivateComponent: { kind: 1, name: 'v', version: 1 },
  DeactivateComponent: { kind: 1, name: 'v', version: 1 },
  DeleteComponent: { kind: 1, name: 'v' },
  ExpireSnapshots: { stateViewName: 'v' },
  ListComponentVersions: { kind: 1 },
  ProcessStateChange: { stateChangeName: 'c', command: { contentType: '', bytes: new Uint8Array(0) } },
  ExecuteStateChange: { stateChangeName: 'c', version: 1, request: COMMAND_REQUEST },
  DecideStateChange: { stateChangeName: 'c', request: COMMAND_REQUEST },
  IssueApiKey: { name: 'of a test', roles: ['reader:absent-*'] },
  FetchApiKey: { id: PLACES['key_id'] },
  RotateApiKey: { id: PLACES['key_id'] },
  RevokeApiKey: { id: PLACES['key_id'] },
};

async function call(name: string, databaseName: string, key: string): Promise<string> {
  const admin = Object.values(ADMIN_METHODS).find((path) => path.endsWith(`/${name}`));
  if (admin !== undefined) {
    return outcomeOf(server.client.sendBytes(admin, orderOf(admin), { metadata: { 'x-api-key': key } }));
  }
  const [method = '', definition] =
    Object.entries(EventStoreService).find(([, { path }]) => path.endsWith(`/${name}`)) ?? [];
  const empty = definition?.requestDeserialize(Buffer.alloc(0));
  const request = { ...empty, ...FIELDS[name], databaseName } as never;
  const metadata = { 'x-api-key': key };
  return outcomeOf(
    definition?.responseStream === true
      ? server.client.collect(method as StreamName, request, { metadata })
      : server.client.send(method as UnaryName, request, { metadata }),
  );
}

function orderOf(admin: string): Buffer {
  const write = (order: AdminRequest['order']): Buffer => writeAdminRequest({ order, isPassedOn: false });
  switch (admin) {
    case ADMIN_METHODS.describe:
    case ADMIN_METHODS.finalize:
      return Buffer.alloc(0);
    case ADMIN_METHODS.copy:
      return write({ kind: 'copy', name: 'shop' });
    case ADMIN_METHODS.recover:
      return write({ kind: 'recover', name: 'shop', from: toNodeId(9), acceptRevision: undefined });
    case ADMIN_METHODS['set-copies']:
      return write({ kind: 'set-copies', name: 'absent', databaseId: undefined, copies: 3 });
    default:
      // The message names node 9.
      return Buffer.from([8, 9]);
  }
}

const LACKING = /^PERMISSION_DENIED RightLacking$/;

function codeOf(operation: Operation): RegExp {
  if (operation === CREATES || operation === 'listDatabases') return /^OK$/;
  // Node 9 does not exist, and neither does a database to recover.
  if (operation === 'administerCluster') return /^(?:OK|NOT_FOUND undefined)$/;
  if (isOnAll(operation)) return /^(?:OK|NOT_FOUND ApiKeyNotFound)$/;
  return operation === 'publishComponent' ? /^INVALID_ARGUMENT / : /^NOT_FOUND DatabaseNotFound$/;
}

describe.each(ROLE_NAMES)('SPEC-AUTH-ROLES over gRPC: %s', (role) => {
  const calls = OPERATIONS.flatMap((operation) => WAYS[operation].grpc.map((name) => [name, operation] as const));

  it.each(calls)('may, or may not, call %s as the table says', async (name, operation) => {
    const outcome = await call(name, ABSENT, keyOf(role, operation));
    expect(outcome).toMatch(may(role, operation) ? codeOf(operation) : LACKING);
    if (operation === CREATES) await api.send(`/api/v1/db/${ABSENT}`, { method: 'DELETE', headers: AS_FIRST });
    if (operation === 'listDatabases' || isOnAll(operation)) return;
    expect(await call(name, THERE, keyOf(role, operation))).toMatch(LACKING);
  });
});

/** The published bytes are no component. They are checked only after the rights. */
const DONE = /^done$|InvalidComponent/;
const FORBIDDEN = /Request failed with status 403/;

it.each([
  ['reader', [DONE, FORBIDDEN, FORBIDDEN]],
  ['deployer', [DONE, FORBIDDEN, DONE]],
] as const)('SPEC-AUTH-ROLES over MCP: tools have for a %s the rights of the table', async (role, outcomes) => {
  const component = { component_type: 'state_view', name: 'v', version: 1, content_type: 'a/b', wasm_base64: 'AAAA' };
  const tools: readonly (readonly [name: string, given: Record<string, unknown>])[] = [
    ['fetch', { path: `/db/${IN_USE}/latest` }],
    ['execute_state_change', { database: IN_USE, state_change: 'c', version: 1, command: {} }],
    ['publish_component', { database: IN_USE, ...component }],
  ];
  const authorization = `Bearer ${keys.get(`${role}:absent-*`)}`;
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(server.mcp), { requestInit: { headers: { authorization } } }),
  );
  for (const [at, [name, given]] of tools.entries()) {
    const told = await client.callTool({ name, arguments: given }).then(
      () => 'done',
      (failure: Error) => failure.message,
    );
    expect([name, told]).toEqual([name, expect.stringMatching(outcomes[at] ?? DONE)]);
  }
  await client.close();
});

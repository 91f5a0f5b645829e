/** The table of docs/security.md: what each operation needs, who has it, and the calls and routes that lead to it. */
import { RIGHTS_OF_ROLE, ROLES } from '../../src/model/access.ts';
import { OPERATIONS, type Operation, PERMISSIONS } from '../../src/service/facade/permissions.ts';
import { ADMIN_METHODS } from '../../src/transport/admin-messages.ts';

/** Name of a call, from its path. */
function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

interface Ways {
  readonly grpc: readonly string[];
  readonly http: readonly string[];
  /** A route of another operation, with the condition that makes it this one. */
  readonly within?: string;
}

const RENDERS = [
  'GET /api/v1/db/{database}/{revision}/state-views/{name}/v{version}',
  'GET /databases/{database}/state-views/{name}',
  'GET /api/v1/databases/{database}/state-views/{name}/versions/{version}',
];

/** Each call and each route is listed at its main operation. A redirect to a revision also reads. */
export const WAYS: Readonly<Record<Operation, Ways>> = {
  createDatabase: {
    grpc: ['CreateDatabase'],
    http: ['POST /api/v1/db', 'POST /api/v1/databases/{database}', 'POST /databases'],
  },
  deleteDatabase: {
    grpc: ['DeleteDatabase'],
    http: ['DELETE /api/v1/db/{database}', 'DELETE /databases/{database}'],
  },
  listDatabases: { grpc: ['FetchCatalog'], http: ['GET /', 'GET /databases'] },
  databaseAt: {
    grpc: ['FetchLatestDatabase', 'FetchDatabaseAtRevision'],
    http: ['GET /db/{database}/{revision}', 'GET /databases/{database}', 'GET /databases/{database}/query-builder'],
  },
  databaseAtTimestamp: { grpc: ['DatabaseEffectiveAtTimestamp'], http: [] },
  awaitDatabase: { grpc: ['AwaitDatabase'], http: [] },
  transact: {
    grpc: ['Transact'],
    http: ['POST /api/v1/db/{database}', 'POST /databases/{database}/events', 'POST /api/v1/db/{database}/async'],
  },
  fetchTransaction: {
    grpc: ['FetchTransaction'],
    http: ['GET /api/v1/db/{database}/transaction/{transaction_id}'],
  },
  queryEvents: {
    grpc: ['QueryEvents', 'QueryEventBatches'],
    http: [
      'GET /db/{database}/{revision}/events',
      'GET /db/{database}/{revision}/streams/{stream}',
      'GET /db/{database}/{revision}/subjects/{subject}',
      'GET /db/{database}/{revision}/event-types/{event_type}',
      'POST /databases/{database}/query',
      'GET /databases/{database}/events',
    ],
  },
  scanLog: { grpc: ['ScanDatabaseLog'], http: [] },
  scanLogBatches: { grpc: ['ScanLogBatches'], http: [] },
  subscribe: { grpc: ['SubscribeEvents'], http: [] },
  listStreams: { grpc: [], http: ['GET /db/{database}/{revision}/streams'] },
  listSubjects: { grpc: [], http: ['GET /db/{database}/{revision}/subjects'] },
  listEventTypes: { grpc: [], http: ['GET /db/{database}/{revision}/event-types'] },
  singleEvent: {
    grpc: [],
    http: [
      'GET /db/{database}/{revision}/events/{event_revision}',
      'GET /db/{database}/{revision}/events/{stream}/{event_id}',
      'GET /databases/{database}/events/{revision}',
    ],
  },
  publishComponent: {
    grpc: ['DefineStateView', 'PublishStateView', 'DefineStateChange', 'PublishStateChange', 'PublishPresenter'],
    http: [
      'POST /api/v1/db/{database}/state-views',
      'POST /api/v1/db/{database}/state-changes',
      'POST /api/v1/db/{database}/presenters',
    ],
  },
  setVersionStatus: {
    grpc: ['ActivateComponent', 'DeactivateComponent', 'ActivateStateView', 'DeactivateStateView'],
    http: [],
  },
  deleteVersions: { grpc: ['DeleteComponent'], http: ['DELETE /databases/{database}/state-views/{name}'] },
  expireSnapshots: {
    grpc: ['ExpireSnapshots'],
    http: ['POST /api/v1/db/{database}/state-views/{name}/expire-snapshots'],
  },
  findVersion: {
    grpc: [],
    http: [
      'GET /api/v1/db/{database}/presenters/{name}/v{version}',
      'GET /db/{database}/state-views/{name}/v{version}',
      'GET /db/{database}/state-changes/{name}/v{version}',
      'GET /db/{database}/presenters/{name}/v{version}',
      'GET /api/v1/db/{database}/state-views/{name}/v{version}/schema',
    ],
  },
  listVersions: {
    grpc: ['ListComponentVersions'],
    http: [
      'GET /api/v1/db/{database}/state-changes',
      'GET /api/v1/db/{database}/presenters',
      'GET /db/{database}/{revision}/state-views',
      'GET /databases/{database}/state-views',
      'GET /db/{database}/{revision}/state-changes',
      'GET /databases/{database}/state-changes',
    ],
  },
  executeCommand: {
    grpc: ['ProcessStateChange', 'ExecuteStateChange'],
    http: [
      'POST /api/v1/db/{database}/{revision}/state-changes/{name}/v{version}',
      'POST /api/v1/db/{database}/state-changes/{name}/v{version}/execute',
      'POST /api/v1/databases/{database}/state-changes/{name}/versions/{version}',
      'POST /databases/{database}/state-changes/{name}/process',
    ],
  },
  decideCommand: { grpc: ['DecideStateChange'], http: [] },
  openStateView: { grpc: ['FetchStateView', 'FetchStateViewAtRevision'], http: RENDERS },
  issueApiKey: { grpc: ['IssueApiKey'], http: ['POST /api/v1/auth/keys'] },
  listApiKeys: { grpc: ['ListApiKeys'], http: ['GET /api/v1/auth/keys'] },
  findApiKey: { grpc: ['FetchApiKey'], http: ['GET /api/v1/auth/keys/{key_id}'] },
  rotateApiKey: { grpc: ['RotateApiKey'], http: ['POST /api/v1/auth/keys/{key_id}/rotate'] },
  revokeApiKey: { grpc: ['RevokeApiKey'], http: ['DELETE /api/v1/auth/keys/{key_id}'] },
  issueToken: { grpc: [], http: ['POST /api/v1/auth/tokens'] },
  listTokens: { grpc: [], http: ['GET /api/v1/auth/tokens'] },
  findToken: { grpc: [], http: ['GET /api/v1/auth/tokens/{token_id}'] },
  revokeToken: { grpc: [], http: ['DELETE /api/v1/auth/tokens/{token_id}'] },
  describeCluster: { grpc: [], http: [], within: 'GET /health/detailed?cluster=true' },
  administerCluster: { grpc: Object.values(ADMIN_METHODS).map(nameOf), http: [] },
};

/** Routes that need no right: public ones, and those for any valid credential. */
export const WITHOUT_RIGHT: readonly string[] = [
  'GET /health',
  'GET /health/detailed',
  'GET /livez',
  'GET /readyz',
  'GET /startupz',
  'GET /assets/{file}',
  'GET /api/v1/openapi.json',
  'GET /api/v1/openapi.full.json',
  'GET /api/v1/docs',
  'GET /api/v1/swagger-ui',
];

export function permissionsTable(): string {
  const rows = OPERATIONS.map((operation) => {
    const right = PERMISSIONS[operation];
    const { grpc, http, within } = WAYS[operation];
    const roles = ROLES.filter((role) => RIGHTS_OF_ROLE[role].includes(right)).join(', ');
    return `| ${right} | ${roles} | ${codes(grpc)} | ${codes(within === undefined ? http : [...http, within])} |`;
  });
  return ['| right | roles | gRPC | HTTP |', '|---|---|---|---|', ...rows].join('\n');
}

function codes(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join('<br>');
}

/** Purpose, body and reply of each route for OpenAPI. A test compares it with the routing table. */

export interface Operation {
  readonly summary: string;
  readonly tag: 'databases' | 'transactions' | 'events' | 'components' | 'views and commands' | 'node' | 'access';
  /** Names of the schemas of the body, by content type. */
  readonly body?: Readonly<Record<string, string>>;
  /** Name of the schema of the reply. Absent: the reply is not JSON. */
  readonly answer?: string;
  /** Content type of a reply that is not JSON. */
  readonly contentType?: string;
  /** True: may redirect with 307. */
  readonly redirects?: boolean;
  /** Description of its 303, if it has one. */
  readonly leads?: string;
}

const JSON_TYPE = 'application/json';
const MULTIPART = 'multipart/form-data';

const databases = { tag: 'databases' } as const;
const transactions = { tag: 'transactions' } as const;
const events = { tag: 'events' } as const;
const components = { tag: 'components' } as const;
const running = { tag: 'views and commands' } as const;
const node = { tag: 'node' } as const;
const probe = { ...node, contentType: 'text/plain' } as const;
const access = { tag: 'access' } as const;

const transacting = {
  ...transactions,
  body: {
    [JSON_TYPE]: 'NewTransaction',
    'application/cloudevents+json': 'NewEvent',
    'application/cloudevents-batch+json': 'NewEvents',
  },
};
const rendering = { ...running, contentType: '*/*', redirects: true };
const commanding = { ...running, body: { [JSON_TYPE]: 'Command' }, answer: 'CommandRecord' };
const state = 'renders a State View, in its own content type or that of its presenter';

/** Operations by method and path of the route. */
export const OPERATIONS: Readonly<Record<string, Operation>> = {
  'POST /api/v1/auth/keys': {
    ...access,
    summary: 'issues an API key',
    body: { [JSON_TYPE]: 'NewApiKey' },
    answer: 'IssuedApiKey',
  },
  'GET /api/v1/auth/keys': { ...access, summary: 'lists API keys', answer: 'ApiKeyList' },
  'GET /api/v1/auth/keys/{key_id}': { ...access, summary: 'reads an API key', answer: 'ApiKey' },
  'POST /api/v1/auth/keys/{key_id}/rotate': {
    ...access,
    summary: 'gives an API key another secret',
    body: { [JSON_TYPE]: 'Rotation' },
    answer: 'IssuedApiKey',
  },
  'DELETE /api/v1/auth/keys/{key_id}': { ...access, summary: 'revokes an API key' },
  'POST /api/v1/auth/tokens': {
    ...access,
    summary: 'issues a token: some of your rights, for an hour at most',
    body: { [JSON_TYPE]: 'NewToken' },
    answer: 'IssuedToken',
  },
  'GET /api/v1/auth/tokens': { ...access, summary: 'lists the tokens that you have issued', answer: 'TokenList' },
  'GET /api/v1/auth/tokens/{token_id}': { ...access, summary: 'reads a token', answer: 'Token' },
  'DELETE /api/v1/auth/tokens/{token_id}': { ...access, summary: 'revokes a token' },
  'POST /api/v1/db': {
    ...databases,
    summary: 'creates a database',
    body: { [JSON_TYPE]: 'NewDatabase' },
    answer: 'Database',
  },
  'POST /databases': {
    ...databases,
    summary: 'creates a database',
    body: { [JSON_TYPE]: 'NewNamedDatabase' },
    answer: 'ListedDatabase',
  },
  'POST /api/v1/databases/{database}': { ...databases, summary: 'creates a database', answer: 'Database' },
  'GET /': { ...databases, summary: 'lists the names of databases', answer: 'DatabaseNames' },
  'GET /databases': { ...databases, summary: 'lists databases', answer: 'DatabaseList' },
  'GET /databases/{database}': {
    ...databases,
    summary: 'reads a database at its latest revision',
    answer: 'DatabaseWithComponents',
  },
  'GET /db/{database}/{revision}': {
    ...databases,
    summary: 'reads a database at a revision',
    answer: 'Database',
    redirects: true,
  },
  'DELETE /api/v1/db/{database}': { ...databases, summary: 'deletes a database' },
  'DELETE /databases/{database}': { ...databases, summary: 'deletes a database' },
  'POST /api/v1/db/{database}': { ...transacting, summary: 'commits a transaction', answer: 'TransactionRecord' },
  'POST /databases/{database}/events': {
    ...transacting,
    summary: 'commits a transaction',
    answer: 'TransactionReceipt',
  },
  'POST /api/v1/db/{database}/async': {
    ...transacting,
    summary: 'accepts a transaction, and does not wait for its outcome',
    answer: 'AcceptedTransaction',
  },
  'GET /api/v1/db/{database}/transaction/{transaction_id}': {
    ...transactions,
    summary: 'looks a transaction up by its id; a refusal of one sent without waiting is answered as an Error',
    answer: 'StoredTransaction',
  },
  'GET /db/{database}/{revision}/events': {
    ...events,
    summary: 'reads the events that are selected',
    answer: 'EventPage',
    redirects: true,
  },
  'GET /db/{database}/{revision}/streams/{stream}': { ...events, summary: 'reads a stream', answer: 'EventPage' },
  'GET /db/{database}/{revision}/subjects/{subject}': {
    ...events,
    summary: 'reads the events of a subject',
    answer: 'EventPage',
  },
  'GET /db/{database}/{revision}/event-types/{event_type}': {
    ...events,
    summary: 'reads the events of an event type',
    answer: 'EventPage',
  },
  'GET /databases/{database}/events': { ...events, summary: 'reads the log', answer: 'LogPage' },
  'POST /databases/{database}/query': {
    ...events,
    summary: 'reads the events that are selected, at the latest revision',
    body: { [JSON_TYPE]: 'Query' },
    answer: 'LogPage',
  },
  'GET /databases/{database}/query-builder': {
    ...events,
    summary: 'a page on which a query is put together',
    leads: 'leads to the events that are found, where a query is given',
    contentType: 'text/html',
  },
  'GET /db/{database}/{revision}/events/{event_revision}': {
    ...events,
    summary: 'reads one event, by its position',
    answer: 'Event',
  },
  'GET /db/{database}/{revision}/events/{stream}/{event_id}': {
    ...events,
    summary: 'reads one event, by its stream and id',
    answer: 'Event',
  },
  'GET /databases/{database}/events/{revision}': {
    ...events,
    summary: 'reads one event, by its position',
    answer: 'Event',
  },
  'GET /db/{database}/{revision}/streams': {
    ...events,
    summary: 'lists the streams',
    answer: 'Streams',
    redirects: true,
  },
  'GET /db/{database}/{revision}/subjects': {
    ...events,
    summary: 'lists the subjects',
    answer: 'Subjects',
    redirects: true,
  },
  'GET /db/{database}/{revision}/event-types': {
    ...events,
    summary: 'lists the event types',
    answer: 'EventTypes',
    redirects: true,
  },
  'POST /api/v1/db/{database}/state-views': {
    ...components,
    summary: 'publishes a State View',
    body: { [MULTIPART]: 'StateViewPublication' },
    answer: 'Version',
  },
  'POST /api/v1/db/{database}/state-changes': {
    ...components,
    summary: 'publishes a State Change',
    body: { [MULTIPART]: 'StateChangePublication' },
    answer: 'Version',
  },
  'POST /api/v1/db/{database}/presenters': {
    ...components,
    summary: 'publishes a presenter',
    body: { [MULTIPART]: 'PresenterPublication' },
    answer: 'Version',
  },
  'GET /db/{database}/{revision}/state-views': {
    ...components,
    summary: 'lists the versions of State Views at a revision',
    answer: 'StateViewVersions',
    redirects: true,
  },
  'GET /db/{database}/{revision}/state-changes': {
    ...components,
    summary: 'lists the versions of State Changes at a revision',
    answer: 'StateChangeVersions',
    redirects: true,
  },
  'GET /databases/{database}/state-views': { ...components, summary: 'lists State Views', answer: 'StateViews' },
  'GET /databases/{database}/state-changes': { ...components, summary: 'lists State Changes', answer: 'StateChanges' },
  'GET /api/v1/db/{database}/state-changes': {
    ...components,
    summary: 'lists the versions of State Changes',
    answer: 'ListedVersions',
  },
  'GET /api/v1/db/{database}/presenters': {
    ...components,
    summary: 'lists the versions of presenters',
    answer: 'ListedVersions',
  },
  'GET /db/{database}/state-views/{name}/v{version}': {
    ...components,
    summary: 'reads a version of a State View',
    answer: 'Version',
  },
  'GET /db/{database}/state-changes/{name}/v{version}': {
    ...components,
    summary: 'reads a version of a State Change',
    answer: 'Version',
  },
  'GET /db/{database}/presenters/{name}/v{version}': {
    ...components,
    summary: 'reads a version of a presenter',
    answer: 'Version',
  },
  'GET /api/v1/db/{database}/presenters/{name}/v{version}': {
    ...components,
    summary: 'reads a version of a presenter',
    answer: 'Version',
  },
  'GET /api/v1/db/{database}/state-views/{name}/v{version}/schema': {
    ...components,
    summary: 'reads the schema that a version of a State View holds',
    contentType: 'application/schema+json',
  },
  'DELETE /databases/{database}/state-views/{name}': { ...components, summary: 'deletes a State View' },
  'POST /api/v1/db/{database}/state-views/{name}/expire-snapshots': {
    ...components,
    summary: 'forgets what was folded',
    answer: 'FoldEpoch',
  },
  'GET /api/v1/db/{database}/{revision}/state-views/{name}/v{version}': { ...rendering, summary: state },
  'GET /databases/{database}/state-views/{name}': { ...rendering, summary: state },
  'GET /api/v1/databases/{database}/state-views/{name}/versions/{version}': { ...rendering, summary: state },
  'POST /api/v1/db/{database}/{revision}/state-changes/{name}/v{version}': {
    ...commanding,
    summary: 'runs a command, and commits what is decided',
  },
  'POST /api/v1/databases/{database}/state-changes/{name}/versions/{version}': {
    ...commanding,
    summary: 'runs a command, and commits what is decided',
  },
  'POST /api/v1/db/{database}/state-changes/{name}/v{version}/execute': {
    ...commanding,
    summary: 'runs a command that is said as a method, a path and a body',
    body: { [JSON_TYPE]: 'DescribedCommand' },
  },
  'POST /databases/{database}/state-changes/{name}/process': {
    ...commanding,
    summary: 'runs a command, and answers what went wrong in it as data',
    body: { [JSON_TYPE]: 'ProcessedCommand' },
    answer: 'ProcessReply',
  },
  'GET /health': { ...node, summary: 'whether the process answers', contentType: 'text/plain' },
  'GET /health/detailed': { ...node, summary: 'what the node knows of itself', answer: 'Health' },
  'GET /livez': { ...probe, summary: 'whether the process is to be restarted' },
  'GET /readyz': { ...probe, summary: 'whether the node is to receive requests' },
  'GET /startupz': { ...probe, summary: 'whether the node has started' },
  'GET /assets/{file}': { ...node, summary: 'what pages of HTML load', contentType: '*/*' },
  'GET /api/v1/openapi.json': {
    ...node,
    summary: 'the schemas of this document alone',
    contentType: 'application/json',
  },
  'GET /api/v1/openapi.full.json': { ...node, summary: 'this document', contentType: 'application/json' },
  'GET /api/v1/docs': { ...node, summary: 'this document as a page', contentType: 'text/html' },
  'GET /api/v1/swagger-ui': { ...node, summary: 'this document in Swagger UI', contentType: 'text/html' },
};

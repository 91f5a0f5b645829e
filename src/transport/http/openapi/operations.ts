/** Purpose, body and reply of each route for OpenAPI. A test compares it with the routing table. */

import type { DocumentedRoute } from '#ui';

export interface Operation extends Pick<DocumentedRoute, 'summary' | 'body' | 'answer' | 'contentType'> {
  readonly tag: 'databases' | 'transactions' | 'events' | 'components' | 'views and commands' | 'node' | 'access';
  readonly redirects?: boolean;
  /** Description of its 303, if it has one. */
  readonly leads?: string;
}

/** `reply`: name of the schema of a reply in JSON, or content type of another one; absent: it has no body. */
type Describe = (summary: string, reply?: string, others?: Omit<Operation, 'summary' | 'tag'>) => Operation;

function tagged(tag: Operation['tag']): Describe {
  return (summary, reply, others) => {
    if (reply === undefined) return { summary, tag, ...others };
    return { summary, tag, ...(reply.includes('/') ? { contentType: reply } : { answer: reply }), ...others };
  };
}

const databases = tagged('databases');
const transactions = tagged('transactions');
const events = tagged('events');
const components = tagged('components');
const running = tagged('views and commands');
const node = tagged('node');
const access = tagged('access');

const json = (schema: string): Pick<Operation, 'body'> => ({ body: { 'application/json': schema } });
const multipart = (schema: string): Pick<Operation, 'body'> => ({ body: { 'multipart/form-data': schema } });

const TRANSACTION = {
  body: {
    'application/json': 'NewTransaction',
    'application/cloudevents+json': 'NewEvent',
    'application/cloudevents-batch+json': 'NewEvents',
  },
};
const REDIRECTS = { redirects: true };
const state = 'renders a State View, in its own content type or that of its presenter';
const rendering = running(state, '*/*', REDIRECTS);
const commanding = running('runs a command, and commits what is decided', 'CommandRecord', json('Command'));

export const OPERATIONS: Readonly<Record<string, Operation>> = {
  'POST /api/v1/auth/keys': access('issues an API key', 'IssuedApiKey', json('NewApiKey')),
  'GET /api/v1/auth/keys': access('lists API keys', 'ApiKeyList'),
  'GET /api/v1/auth/keys/{key_id}': access('reads an API key', 'ApiKey'),
  'POST /api/v1/auth/keys/{key_id}/rotate': access('gives an API key another secret', 'IssuedApiKey', json('Rotation')),
  'DELETE /api/v1/auth/keys/{key_id}': access('revokes an API key'),
  'POST /api/v1/auth/tokens': access(
    'issues a token: some of your rights, for an hour at most',
    'IssuedToken',
    json('NewToken'),
  ),
  'GET /api/v1/auth/tokens': access('lists the tokens that you have issued', 'TokenList'),
  'GET /api/v1/auth/tokens/{token_id}': access('reads a token', 'Token'),
  'DELETE /api/v1/auth/tokens/{token_id}': access('revokes a token'),
  'POST /api/v1/db': databases('creates a database', 'Database', json('NewDatabase')),
  'POST /databases': databases('creates a database', 'ListedDatabase', json('NewNamedDatabase')),
  'POST /api/v1/databases/{database}': databases('creates a database', 'Database'),
  'GET /': databases('lists the names of databases', 'DatabaseNames'),
  'GET /databases': databases('lists databases', 'DatabaseList'),
  'GET /databases/{database}': databases('reads a database at its latest revision', 'DatabaseWithComponents'),
  'GET /db/{database}/{revision}': databases('reads a database at a revision', 'Database', REDIRECTS),
  'DELETE /api/v1/db/{database}': databases('deletes a database'),
  'DELETE /databases/{database}': databases('deletes a database'),
  'POST /api/v1/db/{database}': transactions('commits a transaction', 'TransactionRecord', TRANSACTION),
  'POST /databases/{database}/events': transactions('commits a transaction', 'TransactionReceipt', TRANSACTION),
  'POST /api/v1/db/{database}/async': transactions(
    'accepts a transaction, and does not wait for its outcome',
    'AcceptedTransaction',
    TRANSACTION,
  ),
  'GET /api/v1/db/{database}/transaction/{transaction_id}': transactions(
    'looks a transaction up by its id; a refusal of one sent without waiting is answered as an Error',
    'StoredTransaction',
  ),
  'GET /db/{database}/{revision}/events': events('reads the events that are selected', 'EventPage', REDIRECTS),
  'GET /db/{database}/{revision}/streams/{stream}': events('reads a stream', 'EventPage'),
  'GET /db/{database}/{revision}/subjects/{subject}': events('reads the events of a subject', 'EventPage'),
  'GET /db/{database}/{revision}/event-types/{event_type}': events('reads the events of an event type', 'EventPage'),
  'GET /databases/{database}/events': events('reads the log', 'LogPage'),
  'POST /databases/{database}/query': events(
    'reads the events that are selected, at the latest revision',
    'LogPage',
    json('Query'),
  ),
  'GET /databases/{database}/query-builder': events('a page on which a query is put together', 'text/html', {
    leads: 'leads to the events that are found, where a query is given',
  }),
  'GET /db/{database}/{revision}/events/{event_revision}': events('reads one event, by its position', 'Event'),
  'GET /db/{database}/{revision}/events/{stream}/{event_id}': events('reads one event, by its stream and id', 'Event'),
  'GET /databases/{database}/events/{revision}': events('reads one event, by its position', 'Event'),
  'GET /db/{database}/{revision}/streams': events('lists the streams', 'Streams', REDIRECTS),
  'GET /db/{database}/{revision}/subjects': events('lists the subjects', 'Subjects', REDIRECTS),
  'GET /db/{database}/{revision}/event-types': events('lists the event types', 'EventTypes', REDIRECTS),
  'POST /api/v1/db/{database}/state-views': components(
    'publishes a State View',
    'Version',
    multipart('StateViewPublication'),
  ),
  'POST /api/v1/db/{database}/state-changes': components(
    'publishes a State Change',
    'Version',
    multipart('StateChangePublication'),
  ),
  'POST /api/v1/db/{database}/presenters': components(
    'publishes a presenter',
    'Version',
    multipart('PresenterPublication'),
  ),
  'GET /db/{database}/{revision}/state-views': components(
    'lists the versions of State Views at a revision',
    'StateViewVersions',
    REDIRECTS,
  ),
  'GET /db/{database}/{revision}/state-changes': components(
    'lists the versions of State Changes at a revision',
    'StateChangeVersions',
    REDIRECTS,
  ),
  'GET /databases/{database}/state-views': components('lists State Views', 'StateViews'),
  'GET /databases/{database}/state-changes': components('lists State Changes', 'StateChanges'),
  'GET /api/v1/db/{database}/state-changes': components('lists the versions of State Changes', 'ListedVersions'),
  'GET /api/v1/db/{database}/presenters': components('lists the versions of presenters', 'ListedVersions'),
  'GET /db/{database}/state-views/{name}/v{version}': components('reads a version of a State View', 'Version'),
  'GET /db/{database}/state-changes/{name}/v{version}': components('reads a version of a State Change', 'Version'),
  'GET /db/{database}/presenters/{name}/v{version}': components('reads a version of a presenter', 'Version'),
  'GET /api/v1/db/{database}/presenters/{name}/v{version}': components('reads a version of a presenter', 'Version'),
  'GET /api/v1/db/{database}/state-views/{name}/v{version}/schema': components(
    'reads the schema that a version of a State View holds',
    'application/schema+json',
  ),
  'DELETE /databases/{database}/state-views/{name}': components('deletes a State View'),
  'POST /api/v1/db/{database}/state-views/{name}/expire-snapshots': components('forgets what was folded', 'FoldEpoch'),
  'GET /api/v1/db/{database}/{revision}/state-views/{name}/v{version}': rendering,
  'GET /databases/{database}/state-views/{name}': rendering,
  'GET /api/v1/databases/{database}/state-views/{name}/versions/{version}': rendering,
  'POST /api/v1/db/{database}/{revision}/state-changes/{name}/v{version}': commanding,
  'POST /api/v1/databases/{database}/state-changes/{name}/versions/{version}': commanding,
  'POST /api/v1/db/{database}/state-changes/{name}/v{version}/execute': running(
    'runs a command that is said as a method, a path and a body',
    'CommandRecord',
    json('DescribedCommand'),
  ),
  'POST /databases/{database}/state-changes/{name}/process': running(
    'runs a command, and answers what went wrong in it as data',
    'ProcessReply',
    json('ProcessedCommand'),
  ),
  'GET /health': node('whether the process answers', 'text/plain'),
  'GET /health/detailed': node('what the node knows of itself', 'Health'),
  'GET /livez': node('whether the process is to be restarted', 'text/plain'),
  'GET /readyz': node('whether the node is to receive requests', 'text/plain'),
  'GET /startupz': node('whether the node has started', 'text/plain'),
  'GET /assets/{file}': node('what pages of HTML load', '*/*'),
  'GET /api/v1/openapi.json': node('the schemas of this document alone', 'application/json'),
  'GET /api/v1/openapi.full.json': node('this document', 'application/json'),
  'GET /api/v1/docs': node('this document as a page', 'text/html'),
  'GET /api/v1/swagger-ui': node('this document in Swagger UI', 'text/html'),
};

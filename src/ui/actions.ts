/** Actions that pages offer: the method and path of a request, and descriptions of its parameters and members. */
import type { Action, Parts } from './description.ts';
import { BUTTON_FORM, CREATE_FORM, EXECUTE_FORM, PUBLISH_FORM, RUN_FORM, TRANSACT_FORM } from './forms.ts';
import {
  belowDatabase,
  type ComponentSegment,
  databasePath,
  type NamedVersion,
  type Place,
  runPath,
  versionPath,
} from './paths.ts';

const CREATE_PATH = '/api/v1/db';

export const CREATE_DATABASE: Action = {
  name: 'create_database',
  method: 'POST',
  path: CREATE_PATH,
  does: 'creates a database at revision 0',
  body: {
    database_name: '1 to 63 lowercase letters, digits, and hyphens inside',
    copies: 'optional number of replicas that vote, 1 to 7; the setting of the cluster otherwise',
  },
  form: CREATE_FORM,
};

/** `revision`: the revision of the page. */
export function transact({ databaseName }: Pick<Place, 'databaseName'>, revision: number | 'r' = 'r'): Action {
  return {
    name: 'transact',
    method: 'POST',
    path: `${CREATE_PATH}/${databaseName}`,
    does: 'commits events as one transaction, all of them or none',
    body: {
      events:
        'list of 1 to 1000 {id, source, specversion, type, subject?, time?, datacontenttype?, data?}; specversion is the ' +
        'text 1.0, and the last segment of source names the stream',
      conditions:
        `optional list of what must hold, such as {min_revision: {revision: ${revision}}}: nothing was committed since ` +
        `${revision}; or {max_revision: {revision: ${revision}, selector}}: nothing was that the selector selects`,
      transaction_id: 'optional UUID, which makes a repeat safe: it is answered with what was recorded',
      commit_message: 'optional text',
    },
    form: TRANSACT_FORM,
  };
}

export function compareRevisions(place: Place): Action {
  return {
    name: 'compare_revisions',
    method: 'GET',
    path: databasePath(place),
    does: 'counts what came since an earlier revision, by streams, subjects and event types',
    query: { since: 'the earlier revision' },
  };
}

export function queryEvents(place: Place): Action {
  return {
    name: 'query_events',
    method: 'GET',
    path: belowDatabase(place, 'events'),
    does: 'reads the events that are selected',
    query: {
      q:
        'JSON in URL-safe base64 without padding: {selector?, range?, direction?, limit?}, such as ' +
        '{selector: {equals: {stream: s}}, direction: REVERSE}; a selector may also be {equals: {eventType: t}}, ' +
        '{equals: {subject: {hasValue: true, value: u}}}, {startsWith: {eventType: p}}, or and, or with a list of them',
    },
  };
}

const PAGING: Parts = {
  limit: 'optional number of events',
  direction: 'optional: forward or reverse',
};

/** For lists of events without a query. */
export function pageEvents(path: string): Action {
  return {
    name: 'page',
    method: 'GET',
    path,
    does: 'lists them by other pages, or from the end',
    query: PAGING,
    narrows: true,
  };
}

/** For the list of all events. */
export function filterEvents(path: string): Action {
  const query = {
    stream: 'optional: only of this stream',
    subject: 'optional: only of this subject',
    type: 'optional: only of this event type',
    start: 'optional: from this revision on',
    end: 'optional: up to this revision, inclusive',
    ...PAGING,
  };
  return { name: 'filter', method: 'GET', path, does: 'lists those that have all that is given', query, narrows: true };
}

export function findNames(path: string, of: string): Action {
  const query = { prefix: 'what the names begin with', limit: 'optional number of names' };
  return { name: 'find', method: 'GET', path, does: `lists the ${of} that begin with a prefix`, query, narrows: true };
}

/** Names the database_id, so that a repeat never deletes a newer database of the same name. */
export function deleteDatabase({ databaseName }: Place, databaseId: string): Action {
  return {
    name: 'delete_database',
    method: 'DELETE',
    path: `${CREATE_PATH}/${databaseName}?database_id=${databaseId}`,
    does: 'deletes the database permanently, and nothing if its name means another one by then',
  };
}

const METADATA: Readonly<Record<ComponentSegment, string>> = {
  'state-views':
    'JSON: {state_view_name, content_type, query_temporality: revision or effective_timestamp, events: list of ' +
    'event types, or event_selector, description?, content_schema?, presenter?}',
  'state-changes': 'JSON: {state_change_name, state_view_names?, description?}',
  presenters: 'JSON: {presenter_name, content_types: list, settings?, description?}',
};

export function publish({ databaseName }: Pick<Place, 'databaseName'>, segment: ComponentSegment): Action {
  const kind = segment.slice(0, -1).replace('-', '_');
  return {
    name: `publish_${kind}`,
    method: 'POST',
    path: `${CREATE_PATH}/${databaseName}/${segment}`,
    does: 'publishes a WebAssembly component as the next version of its name',
    contentType: 'multipart/form-data',
    body: { metadata: METADATA[segment], wasm: 'the bytes of the component' },
    form: PUBLISH_FORM,
  };
}

/** Commands can be tried: a dry run commits nothing and uses up no id. */
const TRIAL = { trial: 'dry_run', query: { dry_run: 'optional: true decides and commits nothing' } };
const BATCH: Parts = { 'x-batch-id': 'optional UUID, which makes a repeat safe' };

export function runCommand(place: Pick<Place, 'databaseName'>, change: NamedVersion): Action {
  return {
    name: 'run_command',
    method: 'POST',
    path: runPath({ ...place, revision: 'latest' }, 'state-changes', change),
    does: 'has the component decide on a command, and commits the events that it answers',
    ...TRIAL,
    headers: BATCH,
    body: 'the command, as the component reads it',
    form: RUN_FORM,
  };
}

export function executeCommand({ databaseName }: Pick<Place, 'databaseName'>, { name, version }: NamedVersion): Action {
  return {
    name: 'execute_command',
    method: 'POST',
    path: `${CREATE_PATH}/${databaseName}/state-changes/${encodeURIComponent(name)}/v${version}/execute`,
    does: 'the same for components that tell commands by method and path',
    ...TRIAL,
    headers: {
      ...BATCH,
      'x-last-seen-revision': 'optional revision since which nothing may have been committed',
    },
    body: {
      method: 'optional, such as PUT; POST otherwise',
      path: 'optional, such as /accounts/a/deposits; / otherwise',
      body: 'optional: the command in JSON',
    },
    form: EXECUTE_FORM,
  };
}

export function renderView(place: Place, view: NamedVersion, query: Parts): Action {
  const path = runPath(place, 'state-views', view);
  return { name: 'render', method: 'GET', path, does: 'renders the state, in its own content type', query };
}

export function showState({ databaseName }: Place, view: NamedVersion, needed: Parts): Action {
  return {
    name: 'show_state',
    method: 'GET',
    path: versionPath(databaseName, 'state-views', view),
    does: 'shows the state at a revision, and what differs from another revision or version',
    query: {
      revision: 'a revision, or latest',
      ...needed,
      other_revision: 'optional: a revision to compare it with',
      other_version: 'optional: a version to compare it with',
    },
  };
}

export function expireSnapshots({ databaseName }: Pick<Place, 'databaseName'>, name: string): Action {
  return {
    name: 'expire_snapshots',
    method: 'POST',
    path: `${CREATE_PATH}/${databaseName}/state-views/${encodeURIComponent(name)}/expire-snapshots`,
    does: 'forgets what was folded, so that the next read folds from the first event',
    form: BUTTON_FORM,
  };
}

export function deleteView({ databaseName }: Place, name: string): Action {
  return {
    name: 'delete_state_view',
    method: 'DELETE',
    path: `/databases/${databaseName}/state-views/${encodeURIComponent(name)}`,
    does: 'deletes all versions of the State View',
  };
}

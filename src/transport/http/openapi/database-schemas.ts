/** Schemas of databases, of lists of names, of health and of errors. */
import { COPIES_MAX } from '#base';
import { ANYTHING, answer, count, list, members, ref, request, type Schema, text } from './schema.ts';

const NAME = text('1 to 63 lowercase letters, digits, and hyphens inside.', {
  minLength: 1,
  maxLength: 63,
  pattern: '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$',
});

const LISTED = members('name database_id created_at latest_revision event_count');

function nameList(member: string): Schema {
  const names = { [member]: list(answer(members('name first_revision'))) };
  return answer({ ...members('database revision'), ...names, ...members('has_more') }, members('next'));
}

const COUNTED = list(answer({ name: text(), events: count() }));
/** With `cluster=true`. */
const CLUSTER = {
  cluster_id: text(),
  node: count('That answers.'),
  ...members('catalog_leader confirmed feature_level database_count'),
  nodes: list(
    answer(
      {
        ...members('node name state zone answers'),
        catalog: text('voter, learner or none.'),
        ...members('copies leads'),
        lag: count('Entries that its replica which lacks the most has not acknowledged.'),
      },
      {
        release: text(),
        catalog_index: count('The entry of the catalog that it has applied.'),
        unapplied: count('Committed entries that it has not applied.'),
        ...members('grpc http mcp'),
      },
    ),
  ),
  databases: list(
    answer(
      { ...members('name database_id nodes'), state: text('settled, moving or diverged.') },
      { leaving: text(), leader: count(), lag: count('Entries of the log that the last of its members lacks.') },
    ),
  ),
};
const COPIES = {
  copies: { ...count('Replicas that vote. Absent: as many as the setting of the cluster.', 1), maximum: COPIES_MAX },
};
/** With `since`. */
const CHANGES = {
  ...members('since new_revisions new_events stream_count subject_count event_type_count'),
  counted_events: count('Of the new events the first so many, in which the names are counted.'),
  streams: COUNTED,
  subjects: COUNTED,
  event_types: COUNTED,
};

const DETAILS = {
  ...members('field value'),
  violations: list(answer(members('field description'), members('value'))),
  constraints: list(answer(members('index kind found required description'))),
  leader: ANYTHING,
  transaction_id: text('Of a transaction that was looked up, and was refused.'),
  refused_at: text('When it was refused.'),
  refused_revision: count(),
  details: ANYTHING,
};
const ERROR = answer(
  { code: text('One of the codes of docs/errors.md.'), message: text() },
  { details: answer({ reason: text('The finest name that there is for what went wrong.') }, DETAILS) },
);

export const DATABASE_SCHEMAS: Readonly<Record<string, Schema>> = {
  DatabaseName: NAME,
  NewDatabase: request({ database_name: ref('DatabaseName') }, COPIES),
  NewNamedDatabase: request({ name: ref('DatabaseName') }, COPIES),
  Nothing: request({}),
  DatabaseNames: answer({ databases: list(text()) }, members('next')),
  Database: answer(
    members('database database_id created_at basis revision revision_timestamp event_count chain_hash'),
    CHANGES,
  ),
  ListedDatabase: answer(members('name database_id created_at'), members('latest_revision event_count')),
  DatabaseList: answer({ databases: list(ref('ListedDatabase')) }, members('next')),
  DatabaseWithComponents: answer({ ...LISTED, state_views: list(text()), state_changes: list(text()) }),
  Streams: nameList('streams'),
  Subjects: nameList('subjects'),
  EventTypes: nameList('event_types'),
  Health: answer(
    {
      ...members('status version'),
      storage: answer(members('adapter status')),
      ...members('uptime_seconds authentication'),
    },
    CLUSTER,
  ),
  Error: answer({ error: ERROR }),
};

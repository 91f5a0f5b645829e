/** Schemas of databases, of lists of names, of health and of errors. */
import { ANYTHING, answer, count, list, REVISION, ref, request, type Schema, TIME, text, UUID } from './schema.ts';

const NAME = text('1 to 63 lowercase letters, digits, and hyphens inside.', {
  minLength: 1,
  maxLength: 63,
  pattern: '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$',
});

const LISTED = { name: text(), database_id: UUID, created_at: TIME, latest_revision: REVISION, event_count: count() };

function nameList(member: string): Schema {
  const names = list(answer({ name: text(), first_revision: REVISION }));
  return answer(
    { database: text(), revision: REVISION, [member]: names, has_more: { type: 'boolean' } },
    { next: text() },
  );
}

const COUNTED = list(answer({ name: text(), events: count() }));
/** With `cluster=true`. */
const CLUSTER = {
  cluster_id: text(),
  node: count('That answers.'),
  catalog_leader: count(),
  confirmed: { type: 'boolean' },
  feature_level: count(),
  nodes: list(
    answer(
      {
        node: count(),
        name: text(),
        state: text(),
        zone: text(),
        answers: { type: 'boolean' },
        catalog: text('voter, learner or none.'),
        copies: count(),
        leads: count(),
        lag: count('Entries that its replica which lacks the most has not acknowledged.'),
      },
      {
        release: text(),
        catalog_index: count('The entry of the catalog that it has applied.'),
        unapplied: count('Committed entries that it has not applied.'),
        grpc: text(),
        http: text(),
        mcp: text(),
      },
    ),
  ),
  database_count: count(),
  databases: list(
    answer(
      { name: text(), database_id: UUID, nodes: text(), state: text('settled, moving or diverged.') },
      { leaving: text(), leader: count(), lag: count('Entries of the log that the last of its members lacks.') },
    ),
  ),
};
/** With `since`. */
const CHANGES = {
  since: REVISION,
  new_revisions: count(),
  new_events: count(),
  counted_events: count('Of the new events the first so many, in which the names are counted.'),
  stream_count: count(),
  streams: COUNTED,
  subject_count: count(),
  subjects: COUNTED,
  event_type_count: count(),
  event_types: COUNTED,
};

const VIOLATIONS = list(answer({ field: text(), description: text() }, { value: ANYTHING }));
const CONSTRAINTS = list(
  answer({ index: count(), kind: text(), found: REVISION, required: text(), description: text() }),
);

export const DATABASE_SCHEMAS: Readonly<Record<string, Schema>> = {
  DatabaseName: NAME,
  NewDatabase: request({ database_name: ref('DatabaseName') }),
  NewNamedDatabase: request({ name: ref('DatabaseName') }),
  Nothing: request({}),
  DatabaseNames: answer({ databases: list(text()) }, { next: text() }),
  Database: answer(
    {
      database: text(),
      database_id: UUID,
      created_at: TIME,
      basis: REVISION,
      revision: REVISION,
      revision_timestamp: TIME,
      event_count: count(),
      chain_hash: text(),
    },
    CHANGES,
  ),
  ListedDatabase: answer(LISTED),
  DatabaseList: answer({ databases: list(ref('ListedDatabase')) }, { next: text() }),
  DatabaseWithComponents: answer({ ...LISTED, state_views: list(text()), state_changes: list(text()) }),
  Streams: nameList('streams'),
  Subjects: nameList('subjects'),
  EventTypes: nameList('event_types'),
  Health: answer(
    {
      status: text(),
      version: text(),
      storage: answer({ adapter: text(), status: text() }),
      uptime_seconds: count(),
      authentication: text(),
    },
    CLUSTER,
  ),
  Error: answer({
    error: answer(
      { code: text('One of the codes of docs/errors.md.'), message: text() },
      {
        details: answer(
          { reason: text('The finest name that there is for what went wrong.') },
          {
            field: text(),
            value: ANYTHING,
            violations: VIOLATIONS,
            constraints: CONSTRAINTS,
            leader: ANYTHING,
            transaction_id: text('Of a transaction that was looked up, and was refused.'),
            refused_at: text('When it was refused.'),
            refused_revision: count(),
            details: ANYTHING,
          },
        ),
      },
    ),
  }),
};

/** Builders of JSON Schemas (draft 2020-12), as in OpenAPI 3.1. */

export interface Schema {
  readonly [keyword: string]: unknown;
}

type Properties = Readonly<Record<string, Schema>>;

export function text(description?: string, rules: Schema = {}): Schema {
  return { type: 'string', ...(description !== undefined && { description }), ...rules };
}

export function count(description?: string, minimum = 0): Schema {
  return { type: 'integer', minimum, ...(description !== undefined && { description }) };
}

export const REVISION: Schema = count('A revision; 0 is before the first transaction.');
export const TIME: Schema = text('A time of RFC 3339.', { format: 'date-time' });
const UUID: Schema = text(undefined, { format: 'uuid' });
export const FLAG: Schema = { type: 'boolean' };
export const ANYTHING: Schema = {};
const NULL: Schema = { type: 'null' };

function named(schema: Schema, names: string): Properties {
  return Object.fromEntries(names.split(' ').map((name) => [name, schema]));
}

/** Members of replies that are no texts. A name has one schema in all replies. */
const MEMBERS: Properties = {
  ...named(UUID, 'database_id transaction_id'),
  ...named(TIME, 'created_at expires_at published_at recordedtime revision_timestamp time transaction_timestamp'),
  ...named(REVISION, 'basis first_revision latest_revision revision published_at_revision state_revision'),
  ...named(REVISION, 'found last_read_revision other_revision since'),
  ...named(FLAG, 'active answers confirmed has_more parameterized replayed success'),
  ...named(count(), 'catalog_leader copies database_count event_count event_type_count events_count feature_level'),
  ...named(count(), 'fold_epoch index leads new_events new_revisions node refused_revision stream_count subject_count'),
  ...named(count(), 'uptime_seconds wasm_bytes'),
  ...named(ANYTHING, 'content_schema event_selector value'),
};

/** Members of a reply by name: texts, unless they are in the table. */
export function members(names: string): Properties {
  const texts = named(text(), names);
  return Object.fromEntries(Object.entries(texts).map(([name, schema]) => [name, MEMBERS[name] ?? schema]));
}

export function list(items: Schema, rules: Schema = {}): Schema {
  return { type: 'array', items, ...rules };
}

/** An object in a reply. Later releases may add members. */
export function answer(required: Properties, optional: Properties = {}): Schema {
  return { type: 'object', properties: { ...required, ...optional }, required: Object.keys(required) };
}

/** An object in a request. Unknown members are refused; null means absent. */
export function request(required: Properties, optional: Properties = {}): Schema {
  const left = Object.entries(optional).map(([name, schema]) => [name, nullable(schema)] as const);
  return { ...answer(required, Object.fromEntries(left)), additionalProperties: false };
}

function nullable(schema: Schema): Schema {
  const { type } = schema;
  if (typeof type === 'string') return { ...schema, type: [type, 'null'] };
  return schema === ANYTHING ? ANYTHING : { anyOf: [schema, NULL] };
}

export function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

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
export const UUID: Schema = text(undefined, { format: 'uuid' });
export const FLAG: Schema = { type: 'boolean' };
export const ANYTHING: Schema = {};
const NULL: Schema = { type: 'null' };

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

/** Reference to a named schema. */
export function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

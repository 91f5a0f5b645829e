/**
 * The language in which the values of the chart are written down (values.ts): each has a default, a JSON schema and a
 * sentence. values.yaml, values.schema.json and the table in the README of the chart follow from it (render.ts).
 */

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
export type Schema = { readonly [keyword: string]: Json };

export interface Value {
  readonly kind: 'value';
  readonly doc: string;
  readonly default: Json;
  readonly schema: Schema;
}

/** A group of values; other keys are not allowed in it. */
export interface Group {
  readonly kind: 'group';
  readonly doc: string;
  readonly members: Readonly<Record<string, Value | Group>>;
}

export function value(schema: Schema, ownDefault: Json, doc: string): Value {
  return { kind: 'value', doc, default: ownDefault, schema };
}

export function group(doc: string, members: Group['members']): Group {
  return { kind: 'group', doc, members };
}

export const text: Schema = { type: 'string' };
export const flag: Schema = { type: 'boolean' };
/** A part of an object of Kubernetes: the API server says what may be in it. */
export const anyObject: Schema = { type: 'object' };
export const objects: Schema = listOf(anyObject);
export const texts: Schema = listOf(text);
export const textMap: Schema = { type: 'object', additionalProperties: text };
/** A size in the notation of Kubernetes: `20Gi`. */
export const quantity: Schema = { type: 'string', pattern: '^[0-9]+(\\.[0-9]+)?(k|Ki|M|Mi|G|Gi|T|Ti|P|Pi)?$' };
/** `auto`: when the cluster serves the API that the object belongs to. */
export const autoOrFlag: Schema = { enum: ['auto', true, false] };
export const port: Schema = wholeNumber(1, 65_535);

export function wholeNumber(minimum: number, maximum: number): Schema {
  return { type: 'integer', minimum, maximum };
}

export function oneOf(...words: readonly string[]): Schema {
  return { enum: words };
}

export function listOf(items: Schema): Schema {
  return { type: 'array', items };
}

export function matching(pattern: string): Schema {
  return { type: 'string', pattern };
}

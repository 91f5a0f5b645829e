/** JSON as bytes, the form of states, events and parameters at the interface of a component. */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true });

export function toBytes(text: string): Uint8Array {
  return encoder.encode(text);
}

/** @throws TypeError when the bytes are not UTF-8. */
export function toText(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/** Parses JSON without checking its type. @throws SyntaxError, TypeError */
export function parseJson<Value>(bytes: Uint8Array): Value {
  const value: Value = JSON.parse(toText(bytes));
  return value;
}

/** @throws TypeError for values that JSON cannot represent, such as undefined, a bigint or a circular reference. */
export function jsonText(value: unknown): string {
  const text: string | undefined = JSON.stringify(value);
  if (text === undefined) throw new TypeError(`A ${typeof value} has no JSON; give an object, a list, a text or null`);
  return text;
}

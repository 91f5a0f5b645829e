/**
 * JSON as values that the TOON encoder takes, without loss: what TOON cannot say exactly is not converted, and shown as
 * the text of its JSON.
 *
 * The encoder has JavaScript's values. So a number is exact when a double has its value, a text when it is well-formed
 * UTF-16, and an object when no name of it is repeated. Objects are made of entries, to which no name is special.
 */
import { encodeUtf8 } from '#base';
import { type JsonNode, type JsonRaw, parseJson } from '#model';

export type ToonValue = string | number | boolean | null | readonly ToonValue[] | ToonObject;
export interface ToonObject {
  readonly [name: string]: ToonValue;
}

/** Members that others have written, and that are shown as they are: payloads of events and schemas of definitions. */
export const FOREIGN: ReadonlySet<string> = new Set(['data', 'content_schema']);

/** Longer payloads are not looked into: their text is cut, escaped and sent in pieces. */
export const STRUCTURE_BYTES_MAX: number = 8 * 1024;

/** The value, if TOON says exactly that; otherwise undefined. */
export function exactValue(node: JsonNode): ToonValue | undefined {
  switch (node.kind) {
    case 'string':
      return node.value.isWellFormed() ? node.value : undefined;
    case 'number':
      return isExact(node.text) ? Number(node.text) : undefined;
    case 'boolean':
      return node.value;
    case 'null':
      return null;
    case 'raw':
      return exactPayload(node);
    case 'array': {
      const items = node.items.map(exactValue);
      return items.every((item) => item !== undefined) ? items : undefined;
    }
    case 'object':
      return exactMembers(node.members);
  }
}

function exactPayload({ bytes }: JsonRaw): ToonValue | undefined {
  if (bytes.length > STRUCTURE_BYTES_MAX) return undefined;
  const node = parseJson(bytes);
  return node.kind === 'fault' ? undefined : exactValue(node);
}

function exactMembers(members: ReadonlyMap<string, JsonNode>): ToonObject | undefined {
  const values: [name: string, value: ToonValue][] = [];
  for (const [name, node] of members) {
    const value = name.isWellFormed() ? exactValue(node) : undefined;
    if (value === undefined) return undefined;
    values.push([name, value]);
  }
  return Object.fromEntries(values);
}

const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** Whether a double has the value that the number says in decimal, its sign included. */
function isExact(text: string): boolean {
  const value = Number(text);
  return Number.isFinite(value) && !Object.is(value, -0) && canonical(text) === canonical(String(value));
}

/** Sign, digits without zeros around them, and the exponent of the last. */
function canonical(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = DECIMAL.exec(text) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return '0';
  const place = Number(exponent) - fraction.length + digits.length - significant.length;
  return `${sign}${significant}e${place}`;
}

/** A text of JSON that the API wrote itself, with the payloads in it as they are. */
export function parseOwnJson(text: string, raw: ReadonlySet<string>): JsonNode {
  const node = parseJson(encodeUtf8(text), { raw });
  if (node.kind === 'fault') throw new TypeError(`The API has written what is not JSON: ${node.message}`);
  return node;
}

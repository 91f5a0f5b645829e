/**
 * Converts JSON to values of the TOON encoder, without loss. A value that TOON cannot represent exactly is shown as the
 * text of its JSON.
 *
 * The encoder takes JavaScript values. So a number is exact when a double has its value, a text when it is well-formed
 * UTF-16, and an object when no member name is repeated. `Object.fromEntries` treats no name as special.
 */
import { type JsonNode, type JsonRaw, parseJson } from '#model';

export type ToonValue = string | number | boolean | null | readonly ToonValue[] | ToonObject;
export interface ToonObject {
  readonly [name: string]: ToonValue;
}

/** Longer payloads are not parsed: they become texts that are escaped in pieces. */
export const STRUCTURE_BYTES_MAX: number = 8 * 1024;

/** Returns the value, or undefined when TOON cannot represent it exactly. */
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

/** Whether a double has exactly the value and sign of the decimal number. */
function isExact(text: string): boolean {
  const value = Number(text);
  return Number.isFinite(value) && !Object.is(value, -0) && canonical(text) === canonical(String(value));
}

/** Sign, digits without leading and trailing zeros, and the exponent of the last digit. */
function canonical(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = DECIMAL.exec(text) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return '0';
  const place = Number(exponent) - fraction.length + digits.length - significant.length;
  return `${sign}${significant}e${place}`;
}

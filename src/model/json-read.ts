/**
 * Reads values from parsed JSON: one function per type, which adds a fault and returns undefined for any other value.
 * Absent and null members are the same here (proto3 JSON); a caller that must distinguish them reads the object.
 */
import {
  type AskedRevision,
  cut,
  type Instant,
  instantFault,
  nearestName,
  parseInstant,
  quote,
  unreachable,
} from '#base';
import { type FaultPlace, fieldBelow, type Said } from './faults.ts';
import type { JsonNode, JsonObject } from './json.ts';
import { FAULT_VALUE_LENGTH_MAX } from './limits.ts';
import { integerRule, parseRevisionText, revisionRule } from './revision-text.ts';

const WORD = /^[\w.-]+$/;

/** The path of a member; a name that is empty, blank or not a word is quoted. */
export function inside({ field, faults }: FaultPlace, name: string): FaultPlace {
  if (!WORD.test(name)) return { field: `${field}[${quote(name)}]`, faults };
  return { field: fieldBelow({ field, faults }, name), faults };
}

export function item({ field, faults }: FaultPlace, index: number): FaultPlace {
  return { field: `${field}[${index}]`, faults };
}

/** The member under any of its spellings, unless absent or null. Two spellings at once are a fault. */
export function member(object: JsonObject, spellings: readonly string[], place: FaultPlace): JsonNode | undefined {
  const present = spellings.filter((name) => isPresent(object.members.get(name)));
  if (present.length > 1) place.faults.add(place.field, `must have only one of ${present.join(', ')}`);
  return present[0] === undefined ? undefined : object.members.get(present[0]);
}

/** Reads a member, unless absent or null. Its faults use the first spelling. */
export function readMember<Value>(
  object: JsonObject,
  spellings: readonly string[],
  place: FaultPlace,
  read: (node: JsonNode, place: FaultPlace) => Value,
): Value | undefined {
  const node = member(object, spellings, place);
  return node === undefined ? undefined : read(node, inside(place, spellings[0] ?? ''));
}

/** The spelling of a member in the object, for the path of a fault. */
export function spellingIn(object: JsonObject, spellings: readonly string[]): string {
  return spellings.find((name) => isPresent(object.members.get(name))) ?? spellings[0] ?? '';
}

export function isPresent(node: JsonNode | undefined): node is JsonNode {
  return node !== undefined && node.kind !== 'null';
}

/** Adds a fault for each unknown member: a typing error must not change the request. */
export function refuseOthers(object: JsonObject, known: readonly string[], place: FaultPlace): void {
  for (const name of object.members.keys()) {
    if (!known.includes(name)) place.faults.add(inside(place, name).field, unknownRule(name, known));
  }
}

/** Rule of an error for an unknown name: the known ones, and the nearest of them. */
function unknownRule(name: string, known: readonly string[]): string {
  if (known.length === 0) return 'is unknown; nothing is known here';
  const meant = nearestName(name, known);
  return `is unknown; known are ${known.join(', ')}${meant === undefined ? '' : `; use ${meant}`}`;
}

export function objectFrom(
  node: JsonNode,
  { field, faults }: FaultPlace,
  rule = 'must be an object',
): JsonObject | undefined {
  return node.kind === 'object' ? node : faults.add(field, rule, describe(node));
}

export function itemsFrom(node: JsonNode, { field, faults }: FaultPlace): readonly JsonNode[] | undefined {
  return node.kind === 'array' ? node.items : faults.add(field, 'must be an array', describe(node));
}

export function textFrom(node: JsonNode, { field, faults }: FaultPlace): string | undefined {
  if (node.kind !== 'string') return faults.add(field, 'must be a string', describe(node));
  return node.value.isWellFormed()
    ? node.value
    : faults.add(field, 'must not contain an unpaired surrogate', node.value);
}

/** An object of texts under arbitrary names; `inner` gives the path of each. */
export function textsFrom(
  node: JsonNode,
  place: FaultPlace,
  inner: (place: FaultPlace, name: string) => FaultPlace = inside,
): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const [key, value] of objectFrom(node, place)?.members ?? []) {
    const text = textFrom(value, inner(place, key));
    if (text !== undefined) texts.set(key, text);
  }
  return texts;
}

export function booleanFrom(node: JsonNode, { field, faults }: FaultPlace): boolean | undefined {
  return node.kind === 'boolean' ? node.value : faults.add(field, 'must be true or false', describe(node));
}

/** An integer of 0 or more below 2^53; also as a string, as protobuf writes 64-bit numbers in JSON. */
export function countFrom(node: JsonNode, { field, faults }: FaultPlace): number | undefined {
  return countOf(node) ?? faults.add(field, integerRule('0 to 2^53 - 1', digitsOf(node)), describe(node));
}

/** A requested revision; also as a string. */
export function revisionFrom(node: JsonNode, { field, faults }: FaultPlace): AskedRevision | undefined {
  return parseRevisionText(digitsOf(node)) ?? faults.add(field, revisionRule(digitsOf(node)), describe(node));
}

/** A count between two bounds, both inclusive. */
export function integerFrom(
  node: JsonNode,
  { min, max }: { readonly min: number; readonly max: number },
  { field, faults }: FaultPlace,
): number | undefined {
  const value = countOf(node);
  if (value !== undefined && value >= min && value <= max) return value;
  return faults.add(field, integerRule(`${min} to ${max}`, digitsOf(node)), describe(node));
}

function countOf(node: JsonNode): number | undefined {
  const text = digitsOf(node);
  const value = /^(?:0|[1-9]\d{0,15})$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(value) ? value : undefined;
}

function digitsOf(node: JsonNode): string {
  if (node.kind === 'number') return node.text;
  return node.kind === 'string' ? node.value : '';
}

export function instantFrom(node: JsonNode, place: FaultPlace): Instant | undefined {
  const text = textFrom(node, place);
  if (text === undefined) return undefined;
  return parseInstant(text) ?? place.faults.add(place.field, timeRule(text), text);
}

const TIME_RULE = 'must be a time of RFC 3339 such as 2026-01-31T23:59:59.999Z, in the years 0001 to 9999';

/** Rule of a time, with the specific fault where there is one. */
export function timeRule(text: string): string {
  const fault = instantFault(text);
  return fault === undefined ? TIME_RULE : `${TIME_RULE}; ${fault}`;
}

/** The value of a fault. */
export function describe(node: JsonNode): Said {
  return { said: textOf(node) };
}

/** The value of a fault: an object with incompatible members. */
export function describeMembers({ members }: JsonObject): Said {
  const shown = Array.from(members, ([name, node]) => `${WORD.test(name) ? name : quote(name)}: ${textOf(node)}`);
  return { said: cut(`{${shown.join(', ')}}`, FAULT_VALUE_LENGTH_MAX) };
}

function textOf(node: JsonNode): string {
  switch (node.kind) {
    case 'string':
      return quote(node.value);
    case 'number':
      return cut(node.text, FAULT_VALUE_LENGTH_MAX);
    case 'boolean':
      return String(node.value);
    case 'array':
      return 'an array';
    case 'object':
      return 'an object';
    case 'raw':
      return 'a payload';
    case 'null':
      return 'null';
    default:
      return unreachable(node);
  }
}

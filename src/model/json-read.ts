/**
 * Taking values out of parsed JSON: one function a type, each of which adds a fault and returns undefined when the JSON
 * says something else. Absent members and members that are null are the same here (proto3 JSON); who must tell them
 * apart asks the object itself.
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
import type { Faults, Said } from './faults.ts';
import type { JsonNode, JsonObject } from './json.ts';
import { FAULT_VALUE_LENGTH_MAX } from './limits.ts';
import { integerRule, parseRevisionText, revisionRule } from './revision-text.ts';

/** Where a value stands in the request, and where its faults go. */
export interface JsonPlace {
  readonly field: string;
  readonly faults: Faults;
}

const WORD = /^[\w.-]+$/;

/** A member, by the name that it has in the request: one that is empty, blank or not a word is shown in quotes. */
export function inside({ field, faults }: JsonPlace, name: string): JsonPlace {
  if (!WORD.test(name)) return { field: `${field}[${quote(name)}]`, faults };
  return { field: field === '' ? name : `${field}.${name}`, faults };
}

export function item({ field, faults }: JsonPlace, index: number): JsonPlace {
  return { field: `${field}[${index}]`, faults };
}

/** The member under any of its spellings, unless absent or null. Two spellings at once are a fault. */
export function member(object: JsonObject, spellings: readonly string[], place: JsonPlace): JsonNode | undefined {
  const present = spellings.filter((name) => isPresent(object.members.get(name)));
  if (present.length > 1) place.faults.add(place.field, `must have only one of ${present.join(', ')}`);
  return present[0] === undefined ? undefined : object.members.get(present[0]);
}

/** Reads a member, unless absent or null. Its faults name it by the first of its spellings. */
export function readMember<Value>(
  object: JsonObject,
  spellings: readonly string[],
  place: JsonPlace,
  read: (node: JsonNode, place: JsonPlace) => Value,
): Value | undefined {
  const node = member(object, spellings, place);
  return node === undefined ? undefined : read(node, inside(place, spellings[0] ?? ''));
}

/** The spelling that the object uses for a member, for the path of a fault. */
export function spellingIn(object: JsonObject, spellings: readonly string[]): string {
  return spellings.find((name) => isPresent(object.members.get(name))) ?? spellings[0] ?? '';
}

export function isPresent(node: JsonNode | undefined): node is JsonNode {
  return node !== undefined && node.kind !== 'null';
}

/** Adds a fault for each member that the object must not have: a typing error must not change what is asked. */
export function refuseOthers(object: JsonObject, known: readonly string[], place: JsonPlace): void {
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
  { field, faults }: JsonPlace,
  rule = 'must be an object',
): JsonObject | undefined {
  return node.kind === 'object' ? node : faults.add(field, rule, describe(node));
}

export function itemsFrom(node: JsonNode, { field, faults }: JsonPlace): readonly JsonNode[] | undefined {
  return node.kind === 'array' ? node.items : faults.add(field, 'must be an array', describe(node));
}

export function textFrom(node: JsonNode, { field, faults }: JsonPlace): string | undefined {
  if (node.kind !== 'string') return faults.add(field, 'must be a string', describe(node));
  return node.value.isWellFormed()
    ? node.value
    : faults.add(field, 'must not contain an unpaired surrogate', node.value);
}

/** An object of texts under names of the client's own; `inner` gives the place of each. */
export function textsFrom(
  node: JsonNode,
  place: JsonPlace,
  inner: (place: JsonPlace, name: string) => JsonPlace = inside,
): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const [key, value] of objectFrom(node, place)?.members ?? []) {
    const text = textFrom(value, inner(place, key));
    if (text !== undefined) texts.set(key, text);
  }
  return texts;
}

export function booleanFrom(node: JsonNode, { field, faults }: JsonPlace): boolean | undefined {
  return node.kind === 'boolean' ? node.value : faults.add(field, 'must be true or false', describe(node));
}

/** An integer of 0 or more below 2^53; as a string too, since JSON of 64-bit numbers is written so by protobuf. */
export function countFrom(node: JsonNode, { field, faults }: JsonPlace): number | undefined {
  return countOf(node) ?? faults.add(field, integerRule('0 to 2^53 - 1', digitsOf(node)), describe(node));
}

/** A revision to ask for; as a string too. */
export function revisionFrom(node: JsonNode, { field, faults }: JsonPlace): AskedRevision | undefined {
  return parseRevisionText(digitsOf(node)) ?? faults.add(field, revisionRule(digitsOf(node)), describe(node));
}

/** A count between two bounds, both inclusive. */
export function integerFrom(
  node: JsonNode,
  { min, max }: { readonly min: number; readonly max: number },
  { field, faults }: JsonPlace,
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

export function instantFrom(node: JsonNode, place: JsonPlace): Instant | undefined {
  const text = textFrom(node, place);
  if (text === undefined) return undefined;
  return parseInstant(text) ?? place.faults.add(place.field, timeRule(text), text);
}

const TIME_RULE = 'must be a time of RFC 3339 such as 2026-01-31T23:59:59.999Z, in the years 0001 to 9999';

/** What the text must be, and what keeps it from being so where that is one part of it. */
export function timeRule(text: string): string {
  const fault = instantFault(text);
  return fault === undefined ? TIME_RULE : `${TIME_RULE}; ${fault}`;
}

/** For the value of a fault. */
export function describe(node: JsonNode): Said {
  return { said: textOf(node) };
}

/** For the value of a fault: an object whose members do not go together. */
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

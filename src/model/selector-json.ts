/**
 * Selectors in JSON: every form of the specification, for both HTTP route families and for State View metadata. Their
 * members alone distinguish them.
 *
 * ```
 * {}                                                      every event
 * {"stream": "s", "event_type": "t", "subject": "u"}      flat: all of them (And); also "source"
 * {"equals": {"stream": "s"}}                             or "eventType", "source"
 * {"equals": {"subject": {"hasValue": true, "value": "u"}}}     without hasValue: true: events without a subject; no string
 * {"startsWith": {"eventType": "t."}}
 * {"and": [ … ]}   {"or": {"selectors": [ … ]}}   {"or": {"left": …, "right": …}}
 * {"type": "equals", "attr": {"event_type": "t"}}   {"type": "or", "selectors": [ … ]}
 * {"ByTypePrefix": "t."}   {"noSubject": {}}              the kinds by name, in any of the three spellings
 * {"type": "by_type_prefix", "value": "t."}
 * ```
 * Only the selector of a State View may have parameters: `{"parameter": "p"}` in place of a stream, type or subject.

 * An unknown or superfluous member is a fault: a typing error must not select other events.
 */
import type { FaultPlace, Faults } from './faults.ts';
import type { JsonNode, JsonObject } from './json.ts';
import {
  booleanFrom,
  describe,
  describeMembers,
  inside,
  isPresent,
  item,
  itemsFrom,
  objectFrom,
  textFrom,
} from './json-read.ts';
import {
  ALL,
  and,
  isTerm,
  NO_SUBJECT,
  or,
  type Selector,
  type SelectorTemplate,
  TERM_KINDS,
  TERMS,
  type TermAttribute,
  type TermKind,
} from './selector.ts';
import { SelectorReading } from './selector-rules.ts';

/** The selector, or undefined with faults added. */
export function selectorFromJson(node: JsonNode, field: string, faults: Faults): Selector | undefined {
  const reading = new SelectorReading(field, faults);
  return reading.finish(readSelector(node, { field, faults, reading, depth: 1, isNested: false }));
}

/** A list, any of which may match; an empty list selects every event. */
export function selectionFromJson(node: JsonNode, field: string, faults: Faults): Selector | undefined {
  const reading = new SelectorReading(field, faults);
  const selectors = readList(node, { field, faults, reading, depth: 1, isNested: false });
  if (selectors === undefined) return undefined;
  return reading.finish(selectors.length === 0 ? ALL : or(selectors));
}

/** The template of a State View, or undefined with faults added. */
export function templateFromJson(node: JsonNode, field: string, faults: Faults): SelectorTemplate | undefined {
  const reading = new SelectorReading(field, faults, { isTemplate: true });
  return reading.finishTemplate(readSelector(node, { field, faults, reading, depth: 1, isNested: false }));
}

interface Place extends FaultPlace {
  readonly reading: SelectorReading;
  readonly depth: number;
  /** True inside `{"equals": …}`, where a subject is an object. */
  readonly isNested: boolean;
}

function at(place: Place, name: string): Place {
  return { ...place, ...inside(place, name) };
}

/** Spellings differ only in case and underscores: ByTypePrefix, byTypePrefix, by_type_prefix. */
function plain(name: string): string {
  return name.toLowerCase().replaceAll('_', '');
}

const JSON_NAMES: Readonly<Record<TermAttribute, string>> = {
  stream: 'stream',
  type: 'eventType',
  subject: 'subject',
  source: 'source',
};

const ATTRIBUTES: ReadonlyMap<string, TermAttribute> = new Map(
  (['stream', 'type', 'subject', 'source'] as const).map((attribute) => [plain(JSON_NAMES[attribute]), attribute]),
);

/** The kinds of one attribute by name. */
const KINDS: ReadonlyMap<string, TermKind> = new Map(TERM_KINDS.map((kind) => [kind.replaceAll('-', ''), kind]));

const OPERATORS: ReadonlySet<string> = new Set([...KINDS.keys(), 'equals', 'startswith', 'and', 'or', 'nosubject']);

/** All names of kinds and attributes, in lowercase without underscores. */
export const SELECTOR_NAMES: readonly string[] = [...OPERATORS, ...ATTRIBUTES.keys()];

function readSelector(node: JsonNode, place: Place): SelectorTemplate | undefined {
  if (!place.reading.enter(place.depth)) return undefined;
  const object = objectFrom(node, place);
  if (object === undefined) return undefined;
  if (object.members.has('type')) return readTyped(object, place);
  const operators = [...object.members].filter(([name]) => OPERATORS.has(plain(name)));
  const [operator] = operators;
  if (operator === undefined) return readFlat(object, place);
  if (object.members.size > 1) {
    return place.faults.add(
      place.field,
      'must have one kind and nothing beside it',
      [...object.members.keys()].join(', '),
    );
  }
  const [name, value] = operator;
  return readOperator(plain(name), value, { ...at(place, name), isNested: plain(name) === 'equals' });
}

function readOperator(name: string, value: JsonNode, place: Place): SelectorTemplate | undefined {
  if (name === 'equals' || name === 'startswith') return readAttribute(value, name, place);
  if (name === 'and' || name === 'or') return readCompound(name, value, place);
  if (name === 'nosubject') return readNoSubject(value, place);
  const kind = KINDS.get(name);
  return kind === undefined ? undefined : readTerm(kind, value, place);
}

/** A text, or the name of a parameter. */
function readTerm(kind: TermKind, value: JsonNode, place: Place): SelectorTemplate | undefined {
  const open = parameterIn(value);
  if (open !== undefined) {
    const inner = inside(place, 'parameter');
    const name = textFrom(open, inner);
    return name === undefined ? undefined : place.reading.parameter(kind, name, inner.field);
  }
  const text = textFrom(value, place);
  return text === undefined ? undefined : place.reading.term(kind, text, place.field);
}

/** The name in `{"parameter": name}`. */
function parameterIn(node: JsonNode): JsonNode | undefined {
  return node.kind === 'object' && node.members.size === 1 ? node.members.get('parameter') : undefined;
}

/** `{}` or true. */
function readNoSubject(value: JsonNode, place: Place): SelectorTemplate | undefined {
  const empty = value.kind === 'object' && value.members.size === 0;
  if (empty || (value.kind === 'boolean' && value.value)) return NO_SUBJECT;
  return place.faults.add(place.field, 'must be {} or true', describe(value));
}

/** `{"type": …, "attr" | "value" | "selectors": …}`. */
function readTyped(object: JsonObject, place: Place): SelectorTemplate | undefined {
  const { faults } = place;
  const typeNode = object.members.get('type');
  const type = typeNode === undefined ? undefined : textFrom(typeNode, inside(place, 'type'));
  if (type === undefined) return undefined;
  const name = plain(type);
  if (!OPERATORS.has(name)) {
    const known =
      'equals, starts_with, and, or, no_subject, by_stream, by_type, by_subject, by_source and their prefixes';
    return faults.add(inside(place, 'type').field, `must be one of ${known}`, type);
  }
  const rest = new Map([...object.members].filter(([key]) => key !== 'type'));
  if (name === 'and' || name === 'or') return readCompound(name, { kind: 'object', members: rest }, place);
  if (name === 'nosubject') return readNoSubject({ kind: 'object', members: rest }, place);
  const kind = KINDS.get(name);
  // In the typed form the member of the value may have the name of the attribute.
  const wanted = kind === undefined ? ['attr'] : ['value', plain(JSON_NAMES[TERMS[kind].attribute])];
  const [only, more] = [...rest];
  if (only === undefined || more !== undefined || !wanted.includes(plain(only[0]))) {
    return faults.add(place.field, `must have ${wanted[0]} beside type, and nothing else`, describeMembers(object));
  }
  return readOperator(name, only[1], at(place, only[0]));
}

/** Flat attributes, all of which must match. */
function readFlat(object: JsonObject, place: Place): SelectorTemplate | undefined {
  const parts: SelectorTemplate[] = [];
  for (const [name, value] of object.members) {
    const part = readEquality(name, value, place);
    if (part === undefined) continue;
    parts.push(part);
  }
  return parts.length === object.members.size ? and(parts) : undefined;
}

function readEquality(name: string, value: JsonNode, place: Place): SelectorTemplate | undefined {
  const attribute = ATTRIBUTES.get(plain(name));
  const inner = at(place, name);
  if (attribute === undefined) return place.faults.add(inner.field, `is unknown; ${KNOWN}`);
  if (attribute === 'subject' && value.kind === 'object') return readSubject(value, inner);
  return readTerm(`by-${attribute}`, value, inner);
}

const KNOWN =
  'known are stream, event_type, subject, source, equals, startsWith, and, or, noSubject, byStream, byType, bySubject, bySource and their prefixes';

/** `{"hasValue": true, "value": "u"}`; otherwise it means no subject, and `value` is ignored. */
function readSubject(node: JsonNode, place: Place): SelectorTemplate | undefined {
  if (node.kind !== 'object') return place.faults.add(place.field, SUBJECT_RULE, describe(node));
  if (parameterIn(node) !== undefined) return readTerm('by-subject', node, place);
  const subject = subjectValue(node, place);
  if (subject === undefined) return undefined;
  return subject.hasValue ? subjectTerm('by-subject', subject, place) : NO_SUBJECT;
}

const SUBJECT_RULE =
  'must be an object: {"hasValue": true, "value": "s"} for the subject s, {"hasValue": false} for events without one';

interface SubjectValue {
  readonly hasValue: boolean;
  readonly value: string | undefined;
}

function subjectTerm(
  kind: 'by-subject' | 'by-subject-prefix',
  { value }: SubjectValue,
  place: Place,
): SelectorTemplate | undefined {
  const { field } = inside(place, 'value');
  return value === undefined
    ? place.faults.add(field, 'is required with hasValue: true')
    : place.reading.term(kind, value, field);
}

function subjectValue(object: JsonObject, place: Place): SubjectValue | undefined {
  const countBefore = place.faults.count;
  let hasValue: boolean | undefined;
  let value: string | undefined;
  for (const [name, node] of object.members) {
    const inner = inside(place, name);
    const isHasValue = plain(name) === 'hasvalue';
    if (!isHasValue && name !== 'value') place.faults.add(inner.field, 'is unknown; known are hasValue, value');
    else if (!isPresent(node)) continue;
    else if (isHasValue) hasValue = booleanFrom(node, inner);
    else value = textFrom(node, inner);
  }
  return place.faults.count === countBefore ? { hasValue: hasValue ?? false, value } : undefined;
}

/** The object of `equals` and `startsWith`: exactly one attribute. */
function readAttribute(node: JsonNode, operator: 'equals' | 'startswith', place: Place): SelectorTemplate | undefined {
  const object = objectFrom(node, place);
  if (object === undefined) return undefined;
  const [only, more] = [...object.members];
  if (only === undefined || more !== undefined) {
    const found = only === undefined ? undefined : [...object.members.keys()].join(', ');
    return place.faults.add(place.field, 'must have exactly one of stream, eventType, subject, source', found);
  }
  const [name, value] = only;
  if (operator === 'startswith') return readPrefix(name, value, place);
  const isSubject = place.isNested && plain(name) === 'subject';
  return isSubject ? readSubject(value, at(place, name)) : readEquality(name, value, place);
}

function readPrefix(name: string, value: JsonNode, place: Place): SelectorTemplate | undefined {
  const attribute = ATTRIBUTES.get(plain(name));
  const inner = at(place, name);
  if (attribute === undefined || attribute === 'source')
    return place.faults.add(inner.field, 'is unknown; known are stream, eventType, subject');
  if (value.kind !== 'object' || attribute !== 'subject' || parameterIn(value) !== undefined) {
    return readTerm(`by-${attribute}-prefix`, value, inner);
  }
  const subject = subjectValue(value, inner);
  if (subject === undefined) return undefined;
  if (!subject.hasValue) return place.faults.add(inner.field, 'must have hasValue: true');
  return subjectTerm('by-subject-prefix', subject, inner);
}

/** A list, `{"selectors": list}` or `{"left": …, "right": …}`. */
function readCompound(kind: 'and' | 'or', node: JsonNode, place: Place): SelectorTemplate | undefined {
  const inner = { ...place, depth: place.depth + 1 };
  const selectors = node.kind === 'object' ? readWrapped(node, inner) : readList(node, inner);
  if (selectors === undefined) return undefined;
  if (selectors.length === 0) return place.faults.add(place.field, 'must have at least one selector');
  return kind === 'and' ? and(selectors) : or(selectors);
}

function readWrapped(object: JsonObject, place: Place): readonly SelectorTemplate[] | undefined {
  const { members } = object;
  const [list, left, right] = [members.get('selectors'), members.get('left'), members.get('right')];
  if (list !== undefined && members.size === 1) return readList(list, at(place, 'selectors'));
  if (left === undefined || right === undefined || members.size !== 2) {
    return place.faults.add(place.field, 'must have selectors, or left and right', [...members.keys()].join(', '));
  }
  const sides = [readSelector(left, at(place, 'left')), readSelector(right, at(place, 'right'))];
  const read = sides.filter((side) => side !== undefined);
  return read.length === 2 ? read : undefined;
}

function readList(node: JsonNode, place: Place): readonly SelectorTemplate[] | undefined {
  const items = itemsFrom(node, place);
  if (items === undefined) return undefined;
  const selectors = items.map((part, index) => readSelector(part, { ...place, ...item(place, index) }));
  const read = selectors.filter((selector) => selector !== undefined);
  return read.length === items.length ? read : undefined;
}

/** Writes the nested form of the revision-scoped family, which `selectorFromJson` or `templateFromJson` reads back. */
export function selectorToJson(selector: SelectorTemplate): string {
  if (isTerm(selector)) {
    const value = JSON.stringify(selector.value);
    return termToJson(selector.kind, selector.kind === 'by-subject' ? `{"hasValue":true,"value":${value}}` : value);
  }
  switch (selector.kind) {
    case 'all':
      return '{}';
    case 'no-subject':
      return '{"equals":{"subject":{"hasValue":false}}}';
    case 'and':
    case 'or':
      return `{"${selector.kind}":[${selector.selectors.map(selectorToJson).join(',')}]}`;
    case 'parameter':
      return termToJson(selector.term, JSON.stringify({ parameter: selector.name }));
  }
}

function termToJson(kind: TermKind, value: string): string {
  const { attribute, match } = TERMS[kind];
  return `{"${match === 'prefix' ? 'startsWith' : 'equals'}":{"${JSON_NAMES[attribute]}":${value}}}`;
}

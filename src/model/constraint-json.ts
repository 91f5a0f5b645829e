/**
 * Constraints in JSON: the forms of the specification, and their proto3 JSON names.
 *
 * ```
 * {"min_revision": {"revision": 1, "selector": …}}       also minRevision, min
 * {"type": "min_revision", "revision": 1, "selector": …}
 * {"max": {"selector": …, "revision": 0}}                also max_revision, maxRevision
 * {"revision_range": {"start": 1, "end": 4}}             also revisionRange, range, and min/max for the ends
 * ```
 * A MinRevision must have its revision: without one it would always hold. Elsewhere an absent number is 0, as in proto3
 * JSON, if the object has any member.
 */
import type { Constraint } from './constraint.ts';
import { revisionRange } from './constraint-wire.ts';
import type { FaultPlace, Faults } from './faults.ts';
import type { JsonNode, JsonObject } from './json.ts';
import {
  inside,
  isPresent,
  item,
  itemsFrom,
  objectFrom,
  readMember,
  refuseOthers,
  revisionFrom,
  textFrom,
} from './json-read.ts';
import { CONSTRAINTS_MAX } from './limits.ts';
import type { Selector } from './selector.ts';
import { selectorFromJson } from './selector-json.ts';

const KINDS: ReadonlyMap<string, Constraint['kind']> = new Map([
  ['min', 'min-revision'],
  ['minrevision', 'min-revision'],
  ['max', 'max-revision'],
  ['maxrevision', 'max-revision'],
  ['range', 'revision-range'],
  ['revisionrange', 'revision-range'],
]);

/** In lowercase, without underscores. */
export const CONSTRAINT_KIND_NAMES: readonly string[] = [...KINDS.keys()];

const REVISION_RULE = 'must not be empty, but have a revision';
const RANGE_RULE = 'must not be empty, but have start and end';
const KNOWN = 'min_revision, max_revision, revision_range';

/** All constraints of the list, or undefined with faults added. */
export function constraintsFromJson(node: JsonNode, field: string, faults: Faults): readonly Constraint[] | undefined {
  const items = itemsFrom(node, { field, faults });
  if (items === undefined) return undefined;
  if (items.length > CONSTRAINTS_MAX) return faults.add(field, `must be at most ${CONSTRAINTS_MAX}`, items.length);
  const constraints = items.map((part, index) =>
    constraintFromJson(part, item({ field, faults }, index).field, faults),
  );
  const read = constraints.filter((constraint) => constraint !== undefined);
  return read.length === items.length ? read : undefined;
}

export function constraintFromJson(node: JsonNode, field: string, faults: Faults): Constraint | undefined {
  const place = { field, faults };
  const object = objectFrom(node, place);
  if (object === undefined) return undefined;
  return object.members.has('type') ? readTyped(object, place) : readKeyed(object, place);
}

function kindOf(name: string): Constraint['kind'] | undefined {
  return KINDS.get(name.toLowerCase().replaceAll('_', ''));
}

function readTyped(object: JsonObject, place: FaultPlace): Constraint | undefined {
  const typeNode = object.members.get('type');
  const type = typeNode === undefined ? undefined : textFrom(typeNode, inside(place, 'type'));
  if (type === undefined) return undefined;
  const kind = kindOf(type);
  if (kind === undefined) return place.faults.add(inside(place, 'type').field, `must be one of ${KNOWN}`, type);
  const members = new Map([...object.members].filter(([name]) => name !== 'type'));
  return readKind(kind, { kind: 'object', members }, place);
}

function readKeyed(object: JsonObject, place: FaultPlace): Constraint | undefined {
  const [only, more] = [...object.members];
  const kind = only === undefined ? undefined : kindOf(only[0]);
  if (only === undefined || more !== undefined || kind === undefined) {
    const found = only === undefined ? undefined : [...object.members.keys()].join(', ');
    return place.faults.add(place.field, `must have exactly one of ${KNOWN}`, found);
  }
  const inner = inside(place, only[0]);
  const message = objectFrom(only[1], inner);
  return message === undefined ? undefined : readKind(kind, message, inner);
}

function readKind(kind: Constraint['kind'], object: JsonObject, place: FaultPlace): Constraint | undefined {
  const countBefore = place.faults.count;
  if (object.members.size === 0)
    return place.faults.add(place.field, kind === 'revision-range' ? RANGE_RULE : REVISION_RULE);
  const constraint = kind === 'revision-range' ? readRange(object, place) : readRevision(kind, object, place);
  return place.faults.count === countBefore ? constraint : undefined;
}

function readRevision(
  kind: 'min-revision' | 'max-revision',
  object: JsonObject,
  place: FaultPlace,
): Constraint | undefined {
  refuseOthers(object, ['revision', 'selector'], place);
  if (kind === 'min-revision' && !isPresent(object.members.get('revision')))
    return place.faults.add(inside(place, 'revision').field, 'is required');
  const revision = readMember(object, ['revision'], place, revisionFrom) ?? 0;
  return { kind, revision, selector: readSelector(object, place) };
}

function readRange(object: JsonObject, place: FaultPlace): Constraint | undefined {
  refuseOthers(object, ['start', 'end', 'min', 'max', 'selector'], place);
  const start = readMember(object, ['start', 'min'], place, revisionFrom) ?? 0;
  // Without an end the range would be 0 to 0, which always holds for a whole database.
  if (!['end', 'max'].some((name) => isPresent(object.members.get(name))))
    return place.faults.add(inside(place, 'end').field, 'is required');
  const end = readMember(object, ['end', 'max'], place, revisionFrom);
  const selector = readSelector(object, place);
  return end === undefined ? undefined : revisionRange({ start, end, selector }, place);
}

function readSelector(object: JsonObject, place: FaultPlace): Selector | undefined {
  return readMember(object, ['selector'], place, (node, { field, faults }) => selectorFromJson(node, field, faults));
}

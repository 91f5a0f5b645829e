/**
 * `cairn.v1.Constraint`: reads any valid protobuf of a request without unknown fields, writes the canonical form into
 * the log.
 */
import { assert, ByteWriter, beginMessage, nearestRevision, ProtoReader, writeVarintField } from '#base';
import type { Constraint, RevisionRange } from './constraint.ts';
import { type FaultPlace, Faults } from './faults.ts';
import { mergedField, refuseField } from './message-fields.ts';
import { decodeSelector, writeSelector } from './selector-wire.ts';

/** Tags of the two numbers of a kind. */
const FIRST_TAG = 0x08;
const SECOND_TAG = 0x10;

interface Kind {
  readonly kind: Constraint['kind'];
  readonly name: string;
  readonly type: string;
  readonly selectorTag: number;
}

const KINDS: ReadonlyMap<number, Kind> = new Map([
  [0x0a, { kind: 'min-revision', name: 'min_revision', type: 'cairn.v1.MinRevision', selectorTag: 0x12 }],
  [0x12, { kind: 'max-revision', name: 'max_revision', type: 'cairn.v1.MaxRevision', selectorTag: 0x12 }],
  [
    0x1a,
    { kind: 'revision-range', name: 'revision_range', type: 'cairn.v1.RevisionRangeConstraint', selectorTag: 0x1a },
  ],
]);

const KIND_RULE = 'must be one of min_revision, max_revision, revision_range';

/** The constraint of a request, or undefined with faults added. */
export function decodeConstraint(bytes: Uint8Array, field: string, faults: Faults): Constraint | undefined {
  const reader = new ProtoReader(bytes);
  const countBefore = faults.count;
  let sent: { readonly tag: number; readonly kind: Kind; readonly message: Uint8Array } | undefined;
  while (!reader.done) {
    const tag = reader.tag();
    const kind = KINDS.get(tag);
    // The last of several kinds wins. The parts of one kind merge.
    if (kind !== undefined)
      sent = { tag, kind, message: mergedField(reader, sent?.tag === tag ? sent.message : undefined) };
    else {
      reader.skipField(tag);
      if (!reader.failed) faults.add(field, KIND_RULE, `field ${Math.floor(tag / 8)} of wire type ${tag % 8}`);
    }
  }
  if (reader.failed) return faults.add(field, 'must be a protobuf message of cairn.v1.Constraint');
  if (faults.count > countBefore) return undefined;
  if (sent === undefined) return faults.add(field, KIND_RULE);
  const constraint = readKind(sent.message, sent.kind, { field: `${field}.${sent.kind.name}`, faults });
  return faults.count === countBefore ? constraint : undefined;
}

/** The constraint of bytes that `encodeConstraint` wrote. */
export function readStoredConstraint(bytes: Uint8Array): Constraint {
  const faults = new Faults();
  const constraint = decodeConstraint(bytes, 'constraint', faults);
  assert(constraint !== undefined, 'A stored constraint is in canonical wire form', faults.violations);
  return constraint;
}

export function encodeConstraint(constraint: Constraint): Uint8Array {
  const writer = new ByteWriter();
  writeConstraint(writer, constraint);
  return writer.take();
}

/** The message without tag and length. */
export function writeConstraint(writer: ByteWriter, constraint: Constraint): void {
  const isRange = constraint.kind === 'revision-range';
  const mark = beginMessage(writer, isRange ? 3 : constraint.kind === 'min-revision' ? 1 : 2);
  writeUnlessZero(writer, 1, isRange ? constraint.start : constraint.revision);
  if (isRange) writeUnlessZero(writer, 2, constraint.end);
  if (constraint.selector !== undefined) {
    const selector = beginMessage(writer, isRange ? 3 : 2);
    writeSelector(writer, constraint.selector);
    writer.endLength(selector);
  }
  writer.endLength(mark);
}

function writeUnlessZero(writer: ByteWriter, field: number, value: number | bigint): void {
  if (value !== 0) writeVarintField(writer, field, nearestRevision(value));
}

/** Numbers are 0 when absent. */
function readKind(bytes: Uint8Array, { kind, type, selectorTag }: Kind, place: FaultPlace): Constraint | undefined {
  const { field, faults } = place;
  let first: number | bigint = 0;
  let second: number | bigint = 0;
  let message: Uint8Array | undefined;
  const reader = new ProtoReader(bytes);
  while (!reader.done) {
    const tag = reader.tag();
    if (tag === selectorTag) message = mergedField(reader, message);
    else if (tag === FIRST_TAG) first = reader.uint64();
    else if (tag === SECOND_TAG && kind === 'revision-range') second = reader.uint64();
    else refuseField(reader, tag, { field, faults, type });
  }
  if (reader.failed) return faults.add(field, 'must be a protobuf message of that kind of constraint');
  const selector = message && decodeSelector(message, `${field}.selector`, faults);
  if (message !== undefined && selector === undefined) return undefined;
  return kind === 'revision-range'
    ? revisionRange({ start: first, end: second, selector }, place)
    : { kind, revision: first, selector };
}

/** A range with its ends in order, or undefined with the fault added. */
export function revisionRange(
  range: Omit<RevisionRange, 'kind'>,
  { field, faults }: FaultPlace,
): Constraint | undefined {
  if (range.start <= range.end) return { kind: 'revision-range', ...range };
  return faults.add(field, 'must have start at or before end', { said: `${range.start} to ${range.end}` });
}

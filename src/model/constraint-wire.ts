/**
 * `cairn.v1.Constraint`: reads any valid protobuf of a request without unknown fields, writes the canonical form into
 * the log.
 */
import { assert, ByteWriter, beginMessage, concatBytes, nearestRevision, ProtoReader, writeVarintField } from '#base';
import type { Constraint, RevisionRange } from './constraint.ts';
import { Faults } from './faults.ts';
import type { Selector } from './selector.ts';
import { decodeSelector, writeSelector } from './selector-wire.ts';
import { refuseField, type UnknownField } from './unknown-field.ts';

const MIN_TAG = 0x0a;
const MAX_TAG = 0x12;
const RANGE_TAG = 0x1a;
/** Tags of the two numbers of a kind. */
const FIRST_TAG = 0x08;
const SECOND_TAG = 0x10;

interface KindField {
  readonly name: string;
  readonly type: string;
}

const KIND_FIELDS: ReadonlyMap<number, KindField> = new Map([
  [MIN_TAG, { name: 'min_revision', type: 'cairn.v1.MinRevision' }],
  [MAX_TAG, { name: 'max_revision', type: 'cairn.v1.MaxRevision' }],
  [RANGE_TAG, { name: 'revision_range', type: 'cairn.v1.RevisionRangeConstraint' }],
]);

const KIND_RULE = 'must be one of min_revision, max_revision, revision_range';

/** The constraint of a request, or undefined with faults added. */
export function decodeConstraint(bytes: Uint8Array, field: string, faults: Faults): Constraint | undefined {
  const reader = new ProtoReader(bytes);
  const countBefore = faults.count;
  let kind: { readonly tag: number; readonly message: Uint8Array } | undefined;
  while (!reader.done) {
    const tag = reader.tag();
    if (!KIND_FIELDS.has(tag)) {
      reader.skipField(tag);
      if (!reader.failed) faults.add(field, KIND_RULE, `field ${Math.floor(tag / 8)} of wire type ${tag % 8}`);
      continue;
    }
    const start = reader.lengthDelimited();
    const part = bytes.subarray(start, reader.at);
    // The last of several kinds wins. The parts of one kind merge: a merged message is the concatenation of its parts.
    kind = { tag, message: kind?.tag === tag ? concatBytes([kind.message, part]) : part };
  }
  if (reader.failed) return faults.add(field, 'must be a protobuf message of cairn.v1.Constraint');
  if (faults.count > countBefore) return undefined;
  if (kind === undefined) return faults.add(field, KIND_RULE);
  const constraint = constraintOf(kind.tag, kind.message, { field, faults });
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
  switch (constraint.kind) {
    case 'min-revision':
    case 'max-revision': {
      const mark = beginMessage(writer, constraint.kind === 'min-revision' ? 1 : 2);
      writeUnlessZero(writer, 1, constraint.revision);
      writeOptionalSelector(writer, 2, constraint.selector);
      writer.endLength(mark);
      break;
    }
    case 'revision-range': {
      const mark = beginMessage(writer, 3);
      writeUnlessZero(writer, 1, constraint.start);
      writeUnlessZero(writer, 2, constraint.end);
      writeOptionalSelector(writer, 3, constraint.selector);
      writer.endLength(mark);
      break;
    }
  }
}

function writeUnlessZero(writer: ByteWriter, field: number, value: number | bigint): void {
  if (value !== 0) writeVarintField(writer, field, nearestRevision(value));
}

function writeOptionalSelector(writer: ByteWriter, field: number, selector: Selector | undefined): void {
  if (selector === undefined) return;
  const mark = beginMessage(writer, field);
  writeSelector(writer, selector);
  writer.endLength(mark);
}

interface Place {
  readonly field: string;
  readonly faults: Faults;
}

/** The numbers of fields 1 and 2, 0 when absent, and the selector of a kind. */
interface KindMessage {
  readonly first: number | bigint;
  readonly second: number | bigint;
  readonly selector: Selector | undefined;
}

function constraintOf(tag: number, bytes: Uint8Array, place: Place): Constraint | undefined {
  const { name = '', type = '' } = KIND_FIELDS.get(tag) ?? {};
  const field = `${place.field}.${name}`;
  const isRange = tag === RANGE_TAG;
  const message = readKind(bytes, isRange ? 3 : 2, { field, type, faults: place.faults });
  if (message === undefined) return undefined;
  const { first, second, selector } = message;
  if (!isRange) return { kind: tag === MIN_TAG ? 'min-revision' : 'max-revision', revision: first, selector };
  return revisionRange({ start: first, end: second, selector }, { field, faults: place.faults });
}

/** A range with its ends in order, or undefined with the fault added. */
export function revisionRange(range: Omit<RevisionRange, 'kind'>, { field, faults }: Place): Constraint | undefined {
  if (range.start <= range.end) return { kind: 'revision-range', ...range };
  return faults.add(field, 'must have start at or before end', { said: `${range.start} to ${range.end}` });
}

function readKind(
  bytes: Uint8Array,
  selectorField: number,
  { field, type, faults }: UnknownField,
): KindMessage | undefined {
  let first: number | bigint = 0;
  let second: number | bigint = 0;
  let message: Uint8Array | undefined;
  const reader = new ProtoReader(bytes);
  while (!reader.done) {
    const tag = reader.tag();
    if (tag === selectorField * 8 + 2) {
      const start = reader.lengthDelimited();
      const part = bytes.subarray(start, reader.at);
      message = message === undefined ? part : concatBytes([message, part]);
    } else if (tag === FIRST_TAG) first = reader.uint64();
    else if (tag === SECOND_TAG && selectorField > 2) second = reader.uint64();
    else refuseField(reader, tag, { field, type, faults });
  }
  if (reader.failed) return faults.add(field, 'must be a protobuf message of that kind of constraint');
  if (message === undefined) return { first, second, selector: undefined };
  const selector = decodeSelector(message, `${field}.selector`, faults);
  return selector === undefined ? undefined : { first, second, selector };
}

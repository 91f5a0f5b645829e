/**
 * Encodes and decodes `cairn.v1.TransactionOptions`, and checks its limits.
 */
import {
  ByteWriter,
  beginMessage,
  compareBytes,
  encodeUtf8,
  ProtoReader,
  quote,
  utf8Length,
  writeBytesField,
  writeTextField,
  writeVarintField,
} from '#base';
import { type FaultPlace, type Faults, type Found, fieldBelow } from './faults.ts';
import { COMMIT_MESSAGE_BYTES_MAX, PRINCIPAL_ATTRIBUTES_MAX, PRINCIPAL_VALUE_BYTES_MAX } from './limits.ts';
import { refuseField, textField } from './message-fields.ts';
import { nameRule } from './text-rules.ts';
import type { TransactionOptions } from './transaction.ts';

/** Canonical: principal_attributes sorted by the bytes of their keys. */
export function encodeTransactionOptions(options: TransactionOptions): Uint8Array {
  const writer = new ByteWriter();
  if (options.lastReadRevision !== undefined) writeVarintField(writer, 1, options.lastReadRevision);
  const attributes = Array.from(options.principalAttributes, ([key, value]) => ({ key: encodeUtf8(key), value }));
  for (const { key, value } of attributes.toSorted((left, right) => compareBytes(left.key, right.key))) {
    const mark = beginMessage(writer, 2);
    writeBytesField(writer, 1, key);
    writeTextField(writer, 2, value);
    writer.endLength(mark);
  }
  if (options.commitMessage !== undefined) writeTextField(writer, 3, options.commitMessage);
  if (options.correlationId !== undefined) writeTextField(writer, 4, options.correlationId);
  if (options.causationId !== undefined) writeTextField(writer, 5, options.causationId);
  return writer.take();
}

/** The options of a request, or undefined with faults added. */
export function decodeTransactionOptions(
  bytes: Uint8Array,
  field: string,
  faults: Faults,
): TransactionOptions | undefined {
  const countBefore = faults.count;
  const reader = new ProtoReader(bytes);
  const draft: Draft = { principalAttributes: new Map() };
  while (!reader.done) readOption(reader, draft, { field, faults });
  if (reader.failed) return faults.add(field, 'must be a protobuf message of cairn.v1.TransactionOptions');
  checkTransactionOptions(draft, { field, faults });
  return faults.count === countBefore ? draft : undefined;
}

type Draft = { -readonly [Field in keyof TransactionOptions]: TransactionOptions[Field] } & {
  readonly principalAttributes: Map<string, string>;
};

function readOption(reader: ProtoReader, draft: Draft, place: FaultPlace): void {
  const tag = reader.tag();
  if (tag === 0x08) draft.lastReadRevision = readLastRead(reader, place);
  else if (tag === 0x12) readPrincipalAttribute(reader, draft, place);
  else if (tag === 0x1a) draft.commitMessage = readText(reader, 'commit_message', place);
  else if (tag === 0x22) draft.correlationId = readText(reader, 'correlation_id', place);
  else if (tag === 0x2a) draft.causationId = readText(reader, 'causation_id', place);
  else refuseField(reader, tag, { ...place, type: 'cairn.v1.TransactionOptions' });
}

/** A revision is returned as it was sent, so it must not be rounded. */
function readLastRead(reader: ProtoReader, place: FaultPlace): number {
  const value = reader.uint64();
  if (typeof value === 'number') return value;
  addFault(place, 'last_read_revision', 'must be at most 2^53 - 1', value);
  return 0;
}

function readText(reader: ProtoReader, name: string, place: FaultPlace): string {
  return textField(reader, fieldBelow(place, name), place.faults) ?? '';
}

function readPrincipalAttribute(reader: ProtoReader, draft: Draft, place: FaultPlace): void {
  const entry = reader.message();
  let [key, value] = ['', ''];
  while (!entry.done) {
    const tag = entry.tag();
    if (tag === 0x0a) key = readText(entry, 'principal_attributes', place);
    else if (tag === 0x12) value = readText(entry, 'principal_attributes', place);
    else entry.skipField(tag);
  }
  if (entry.failed) reader.fail();
  draft.principalAttributes.set(key, value);
}

/** Checks the limits of options from any source. Faults name the fields as the wire does. */
export function checkTransactionOptions(options: TransactionOptions, place: FaultPlace): void {
  const { principalAttributes, commitMessage, correlationId, causationId } = options;
  if (principalAttributes.size > PRINCIPAL_ATTRIBUTES_MAX) {
    const rule = `must be at most ${PRINCIPAL_ATTRIBUTES_MAX} attributes`;
    addFault(place, 'principal_attributes', rule, principalAttributes.size);
  }
  for (const [key, value] of principalAttributes) {
    const name = `principal_attributes[${quote(key)}]`;
    checkName(key, name, place);
    checkLength(value, PRINCIPAL_VALUE_BYTES_MAX, { ...place, name });
  }
  if (commitMessage !== undefined) {
    checkLength(commitMessage, COMMIT_MESSAGE_BYTES_MAX, { ...place, name: 'commit_message' });
  }
  if (correlationId !== undefined) checkName(correlationId, 'correlation_id', place);
  if (causationId !== undefined) checkName(causationId, 'causation_id', place);
}

function addFault(place: FaultPlace, name: string, rule: string, found: Found): void {
  place.faults.add(fieldBelow(place, name), rule, found);
}

function checkName(text: string, name: string, place: FaultPlace): void {
  const rule = nameRule(text);
  if (rule !== undefined) addFault(place, name, rule, text);
}

/** Messages may have line breaks and other control characters. */
function checkLength(text: string, bytesMax: number, place: FaultPlace & { readonly name: string }): void {
  if (utf8Length(text) > bytesMax) addFault(place, place.name, `must be at most ${bytesMax} bytes of UTF-8`, text);
}

/**
 * Names as branded texts: parsed once at the edge, trusted inside.
 *
 * Every parser takes the path of the field and a `Faults`, and returns the name or undefined with the fault added.
 */
import { type Brand, decodeUtf8, encodeUtf8, parseUuid } from '#base';
import type { Faults } from './faults.ts';
import { NAME_BYTES_MAX, URI_BYTES_MAX } from './limits.ts';
import { describeTextFault, nameFault, type TextFault } from './text-rules.ts';
import { isUriReference, streamSpan } from './uri.ts';

/** A DNS label: lowercase letters, digits, and hyphens inside. */
export type DatabaseName = Brand<string, 'DatabaseName'>;
/** The name of a State View, a State Change or a presenter. */
export type ComponentName = Brand<string, 'ComponentName'>;
export type StreamName = Brand<string, 'StreamName'>;
export type EventType = Brand<string, 'EventType'>;
export type Subject = Brand<string, 'Subject'>;
/** Lowercase text of a UUID of any version. */
export type TransactionId = Brand<string, 'TransactionId'>;

const DATABASE_NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const COMPONENT_NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,127}$/;

export function isDatabaseName(text: string): text is DatabaseName {
  return DATABASE_NAME.test(text);
}

export function parseDatabaseName(text: string, field: string, faults: Faults): DatabaseName | undefined {
  if (isDatabaseName(text)) return text;
  return faults.add(field, 'must be lowercase alphanumeric, with hyphens inside, 1 to 63 characters', text);
}

export function isComponentName(text: string): text is ComponentName {
  return COMPONENT_NAME.test(text);
}

export function parseComponentName(text: string, field: string, faults: Faults): ComponentName | undefined {
  if (isComponentName(text)) return text;
  return faults.add(field, 'must be a letter, then up to 127 letters, digits, "_", "." or "-"', text);
}

function isStreamName(text: string): text is StreamName {
  return ruleBroken(text) === undefined;
}

export function parseStreamName(text: string, field: string, faults: Faults): StreamName | undefined {
  return isStreamName(text) ? text : addNameFault(text, field, faults);
}

function isEventType(text: string): text is EventType {
  return ruleBroken(text) === undefined;
}

export function parseEventType(text: string, field: string, faults: Faults): EventType | undefined {
  return isEventType(text) ? text : addNameFault(text, field, faults);
}

function isSubject(text: string): text is Subject {
  return ruleBroken(text) === undefined;
}

export function parseSubject(text: string, field: string, faults: Faults): Subject | undefined {
  return isSubject(text) ? text : addNameFault(text, field, faults);
}

/** A prefix of a stream, type or subject: a name that may be empty or blank. */
export function parseNamePrefix(text: string, field: string, faults: Faults): string | undefined {
  const fault = ruleBroken(text);
  return fault === undefined || fault === 'empty' || fault === 'blank' ? text : addNameFault(text, field, faults);
}

/** Libraries write it for an id that was not set, which would make different transactions repeats of each other. */
const NIL_ID = '00000000-0000-0000-0000-000000000000';

/** In either case; the value is lowercase. */
export function parseTransactionId(text: string, field: string, faults: Faults): TransactionId | undefined {
  const lower = text.toLowerCase();
  if (lower === NIL_ID) {
    return faults.add(field, 'must not be the nil UUID, which names nothing; make a UUID, or leave it out', text);
  }
  if (isTransactionId(lower)) return lower;
  return faults.add(field, 'must be a UUID (8-4-4-4-12 hexadecimal digits)', text);
}

/** The stream of a source, or undefined when the source is no URI-reference or the stream is too long. */
export function streamOfSource(source: string): StreamName | undefined {
  const bytes = encodeUtf8(source);
  if (bytes.length > URI_BYTES_MAX || !isUriReference(bytes, 0, bytes.length)) return undefined;
  const { start, end } = streamSpan(bytes, 0, bytes.length);
  const stream = decodeUtf8(bytes, start, end);
  return stream !== undefined && isStreamName(stream) ? stream : undefined;
}

function isTransactionId(text: string): text is TransactionId {
  return parseUuid(text) !== undefined;
}

function ruleBroken(text: string): TextFault | undefined {
  if (!text.isWellFormed()) return 'ill-formed';
  const bytes = encodeUtf8(text);
  return nameFault(bytes, 0, bytes.length);
}

function addNameFault(text: string, field: string, faults: Faults): undefined {
  const fault = ruleBroken(text);
  if (fault !== undefined) faults.add(field, describeTextFault(fault, NAME_BYTES_MAX), text);
}

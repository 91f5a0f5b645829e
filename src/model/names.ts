/**
 * Names: parsed once at the edge, trusted inside.
 *
 * Every parser takes the path of the field and a `Faults`, and returns the name or undefined with the fault added.
 */
import { type Brand, decodeUtf8, encodeUtf8, parseUuid } from '#base';
import type { Faults } from './faults.ts';
import { NAME_BYTES_MAX, URI_BYTES_MAX } from './limits.ts';
import { describeTextFault, nameFaultIn, nameRule } from './text-rules.ts';
import { isUriReference, streamSpan } from './uri.ts';

/** The name of a State View, a State Change or a presenter. */
export type ComponentName = Brand<string, 'ComponentName'>;

/** A DNS label: lowercase letters, digits, and hyphens inside. */
const DATABASE_NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const COMPONENT_NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,127}$/;

export function isDatabaseName(text: string): boolean {
  return DATABASE_NAME.test(text);
}

export function parseDatabaseName(text: string, field: string, faults: Faults): string | undefined {
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

/** The name of a stream, an event type or a subject. */
export function parseName(text: string, field: string, faults: Faults): string | undefined {
  const rule = nameRule(text);
  return rule === undefined ? text : faults.add(field, rule, text);
}

/** A prefix of a stream, type or subject: a name that may be empty or blank. */
export function parseNamePrefix(text: string, field: string, faults: Faults): string | undefined {
  const fault = nameFaultIn(text);
  if (fault === undefined || fault === 'empty' || fault === 'blank') return text;
  return faults.add(field, describeTextFault(fault, NAME_BYTES_MAX), text);
}

/** Libraries write it for an id that was not set, which would make different transactions repeats of each other. */
const NIL_ID = '00000000-0000-0000-0000-000000000000';

/** A UUID of any version, in either case; the value is lowercase. */
export function parseTransactionId(text: string, field: string, faults: Faults): string | undefined {
  const lower = text.toLowerCase();
  if (lower === NIL_ID) {
    return faults.add(field, 'must not be the nil UUID, which names nothing; make a UUID, or leave it out', text);
  }
  if (parseUuid(lower) !== undefined) return lower;
  return faults.add(field, 'must be a UUID (8-4-4-4-12 hexadecimal digits)', text);
}

/** The stream of a source, or undefined when the source is no URI-reference or the stream is too long. */
export function streamOfSource(source: string): string | undefined {
  const bytes = encodeUtf8(source);
  if (bytes.length > URI_BYTES_MAX || !isUriReference(bytes, 0, bytes.length)) return undefined;
  const { start, end } = streamSpan(bytes, 0, bytes.length);
  const stream = decodeUtf8(bytes, start, end);
  return stream !== undefined && nameFaultIn(stream) === undefined ? stream : undefined;
}

/**
 * The wire form of an event: field numbers of `cairn.v1.Event`, and what makes its bytes canonical.
 *
 * ```
 * 0A id             32 time            5A.. never      Canonical bytes hold the fields 1 to 12 in ascending order,
 * 12 spec_version   3A data            58 data_kind    each at most once, no unknown field, no default value that
 * 1A ty             42 extensions*     62 time_text    proto3 would leave out, every varint as short as it can be,
 * 22 source         4A datacontenttype                 the extensions sorted by the bytes of their names, and
 * 2A subject        52 dataschema                      time_text only where it differs from the canonical spelling.
 * ```
 * An extension entry is `0A name 12 value`, and a value holds exactly one field. An event has exactly one canonical
 * encoding (M4), which is stored, hashed, indexed and sent.
 */
/** Tags: field number times 8 plus wire type. */
export const TAG = {
  ID: 0x0a,
  SPEC_VERSION: 0x12,
  TYPE: 0x1a,
  SOURCE: 0x22,
  SUBJECT: 0x2a,
  TIME: 0x32,
  DATA: 0x3a,
  EXTENSIONS: 0x42,
  DATA_CONTENT_TYPE: 0x4a,
  DATA_SCHEMA: 0x52,
  DATA_KIND: 0x58,
  TIME_TEXT: 0x62,
  REVISION: 0x68,
  INDEX: 0x70,
  RECORDED_TIME: 0x7a,
} as const;

/** Tags of one entry of `extensions`. */
export const ENTRY_TAG = { NAME: 0x0a, VALUE: 0x12 } as const;

/** Tags of `CloudEventAttributeValue`. */
export const VALUE_TAG = {
  BOOLEAN: 0x08,
  INTEGER: 0x10,
  STRING: 0x1a,
  BYTES: 0x22,
  URI: 0x2a,
  URI_REF: 0x32,
  TIMESTAMP: 0x3a,
} as const;

export const INT32_MIN: number = -(2 ** 31);
export const INT32_MAX: number = 2 ** 31 - 1;

/** Attributes of the CloudEvents core and its JSON format, which are not allowed as extension names. */
export const CORE_NAMES: ReadonlySet<string> = new Set([
  'id',
  'specversion',
  'type',
  'source',
  'subject',
  'time',
  'datacontenttype',
  'dataschema',
  'data',
]);

/** Attributes that the server adds to its answers; clients must not set them. */
const SERVER_NAMES: ReadonlySet<string> = new Set(['revision', 'index', 'recordedtime']);

const EXTENSION_NAME = /^[a-z0-9]+$/;

/** Why a name is invalid for an extension, or undefined. Length is checked elsewhere. */
export function extensionNameFault(name: string): string | undefined {
  if (!EXTENSION_NAME.test(name)) return 'must be a name of lowercase letters and digits';
  if (CORE_NAMES.has(name)) return 'must not have the name of a core attribute';
  if (SERVER_NAMES.has(name)) return 'must not have a name that the server sets (revision, index, recordedtime)';
  return undefined;
}

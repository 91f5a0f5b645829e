/**
 * The payloads of log entries that define components (docs/formats/definitions.md).
 *
 * ```
 * u8 format = 1 | u8 kind | u64 LE recorded_time_ms | …
 * kind 2  blob part    32 bytes digest | varint size of the whole | varint part | the bytes of the part
 * kind 3  define       32 bytes digest | varint size | u8 is inactive | definition
 * kind 4  set status   name | varint version | u8 active | u8 mode
 * kind 5  delete       name | varint version, 0 for all of the name | u8 only inactive versions
 * kind 6  expire       name of a State View
 * name = u8 kind of component | varint length, UTF-8
 * ```
 * All parts of a blob but the last have 1 MiB. Decoding accepts any bytes.
 */
import {
  assert,
  ByteReader,
  ByteWriter,
  type Field,
  FLAG,
  fieldsOf,
  fixedBytes,
  kindsOf,
  mapped,
  NO_BYTES,
  oneOf,
  parseHex,
  REST,
  toHex,
  U64,
  VARINT,
  valid,
} from '#base';
import {
  COMPONENT_KINDS,
  type ComponentDigest,
  type ComponentKind,
  type ComponentReference,
  type Definition,
  isComponentDigest,
  isVersionNumber,
  MAINTENANCE_MODES,
  type VersionNumber,
  type VersionStatus,
} from './definition.ts';
import { COMPONENT_NAME, decodeDefinition, encodeDefinition, VERSION_OR_NONE } from './definition-bytes.ts';
import { COMPONENT_BYTES_MAX } from './limits.ts';
import type { ComponentName } from './names.ts';
import { PAYLOAD_FORMAT } from './payload.ts';
import { stampRecordedTime } from './transaction-body.ts';

const PART_KIND = 2;
const LAST_KIND = 6;
/** Bytes of every part of a blob but the last. */
export const BLOB_PART_BYTES: number = 1024 * 1024;

/** The recorded time follows format and kind; `stampRecordedTime` counts from the tag before it. */
const STAMP_AT = 1;
const DIGEST_BYTES = 32;
/** Estimated bytes before the bytes of a part. */
const HEAD_BYTES = 64;

/** The kind and name of a component, in one database. */
export interface ComponentTitle {
  readonly component: ComponentKind;
  readonly name: ComponentName;
}

export type DefinitionEntry =
  | { readonly kind: 'part'; readonly blob: ComponentReference; readonly part: number; readonly bytes: Uint8Array }
  | {
      readonly kind: 'define';
      readonly blob: ComponentReference;
      readonly definition: Definition;
      /** The new version is inactive. */
      readonly isInactive: boolean;
    }
  | (ComponentTitle & { readonly kind: 'set-status'; readonly version: VersionNumber; readonly status: VersionStatus })
  /** Without a version: all versions of the name. `onlyInactive`: nothing is deleted if one of them is active. */
  | (ComponentTitle & {
      readonly kind: 'delete';
      readonly version: VersionNumber | undefined;
      readonly onlyInactive: boolean;
    })
  /** Invalidates the folded states of every version of the State View. */
  | { readonly kind: 'expire'; readonly name: ComponentName };

export interface TimedDefinitionEntry {
  readonly recordedTimeMs: number;
  readonly entry: DefinitionEntry;
}

const DIGEST: Field<ComponentDigest> = mapped(fixedBytes(DIGEST_BYTES), bytesOfDigest, (bytes) => {
  const digest: string = toHex(bytes);
  return isComponentDigest(digest) ? digest : undefined;
});

const BLOB = fieldsOf<ComponentReference>({
  digest: DIGEST,
  size: valid(VARINT, (size) => size >= 1 && size <= COMPONENT_BYTES_MAX),
});

const TITLE = { component: oneOf(COMPONENT_KINDS, 1), name: COMPONENT_NAME };

const STATE_VIEW: Field<ComponentName> = mapped(
  fieldsOf<ComponentTitle>(TITLE),
  (name) => ({ component: 'state-view' as const, name }),
  ({ component, name }) => (component === 'state-view' ? name : undefined),
);

/** The recorded time is 0 until `stampDefinitionEntry`. */
const HEAD = { recordedTimeMs: U64 };

const ENTRY = kindsOf<DefinitionEntry & { readonly recordedTimeMs: number }>({
  part: [PART_KIND, { ...HEAD, blob: BLOB, part: VARINT, bytes: REST }],
  define: [3, { ...HEAD, blob: BLOB, isInactive: FLAG, definition: mapped(REST, encodeDefinition, decodeDefinition) }],
  'set-status': [
    4,
    {
      ...HEAD,
      ...TITLE,
      version: valid(VARINT, isVersionNumber),
      status: fieldsOf<VersionStatus>({ active: FLAG, mode: oneOf(MAINTENANCE_MODES) }),
    },
  ],
  delete: [5, { ...HEAD, ...TITLE, version: VERSION_OR_NONE, onlyInactive: FLAG }],
  expire: [LAST_KIND, { ...HEAD, name: STATE_VIEW }],
});

export function encodeDefinitionEntry(entry: DefinitionEntry): Uint8Array {
  const writer = new ByteWriter(HEAD_BYTES + (entry.kind === 'part' ? entry.bytes.length : 0));
  writer.u8(PAYLOAD_FORMAT);
  ENTRY.write(writer, { ...entry, recordedTimeMs: 0 });
  return writer.handOver();
}

/** Returns true when a payload of a database is a definition entry. */
export function definesSomething(payload: Uint8Array): boolean {
  const kind = payload[1] ?? 0;
  return kind >= PART_KIND && kind <= LAST_KIND;
}

/** Writes the leader's time into a payload, in place. */
export function stampDefinitionEntry(payload: Uint8Array, recordedTimeMs: number): void {
  assert(definesSomething(payload), 'What is stamped as a definition is one', payload[0]);
  stampRecordedTime(payload, STAMP_AT, recordedTimeMs);
}

/** Undefined for invalid bytes. Accepts any bytes. */
export function decodeDefinitionEntry(payload: Uint8Array): TimedDefinitionEntry | undefined {
  return decode(payload, false);
}

/** Decodes a payload of which bytes of a part may be missing at the end: the part is then empty. */
export function decodeDefinitionHead(head: Uint8Array): TimedDefinitionEntry | undefined {
  const timed = decode(head, true);
  return timed?.entry.kind === 'part' ? { ...timed, entry: { ...timed.entry, bytes: NO_BYTES } } : timed;
}

/** Returns true when a payload that defines something is a part of a blob. */
export function isBlobPart(payload: Uint8Array): boolean {
  return payload[1] === PART_KIND;
}

function decode(payload: Uint8Array, isHead: boolean): TimedDefinitionEntry | undefined {
  if (payload[0] !== PAYLOAD_FORMAT || !definesSomething(payload)) return undefined;
  const reader = new ByteReader(payload, 1);
  const { recordedTimeMs, ...entry } = ENTRY.read(reader);
  if (reader.failed || reader.left > 0) return undefined;
  if (entry.kind === 'part' && !isHead && entry.bytes.length !== partBytesOf(entry)) return undefined;
  return { recordedTimeMs, entry };
}

/** Number of parts of a blob. */
export function partCountOf({ size }: ComponentReference): number {
  return Math.ceil(size / BLOB_PART_BYTES);
}

/** Number of bytes of a part; −1 when the blob has no such part. */
function partBytesOf({ blob, part }: Extract<DefinitionEntry, { readonly kind: 'part' }>): number {
  return part < partCountOf(blob) ? Math.min(BLOB_PART_BYTES, blob.size - part * BLOB_PART_BYTES) : -1;
}

function bytesOfDigest(digest: ComponentDigest): Uint8Array {
  const bytes = parseHex(digest);
  assert(bytes?.length === DIGEST_BYTES, 'A digest has 32 bytes', digest);
  return bytes;
}

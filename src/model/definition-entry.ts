/**
 * The payloads of log entries that define components (docs/formats/definitions.md).
 *
 * ```
 * u8 format = 2 or 7 | u8 kind | u64 LE recorded_time_ms | …
 * kind 2  blob part    32 bytes digest | varint size of the whole | varint part | the bytes of the part
 * kind 3  define       32 bytes digest | varint size | definition
 * kind 4  set status   name | varint version | u8 active | u8 mode
 * kind 5  delete       name | varint version, 0 for all of the name
 * kind 6  expire       name of a State View
 * name = u8 kind of component | varint length, UTF-8
 * ```
 * The format is the feature level: releases that know only level 1 accept none of them (ADR 0047). Two entries have
 * format 7: a definition of an inactive version, and a deletion of inactive versions only. All parts of a blob but the
 * last have 1 MiB. Decoding accepts any bytes.
 */
import { assert, ByteReader, ByteWriter, encodeUtf8, NO_BYTES, parseHex, toHex } from '#base';
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
import { decodeDefinition, encodeDefinition } from './definition-bytes.ts';
import { COMPONENT_BYTES_MAX } from './limits.ts';
import { type ComponentName, isComponentName } from './names.ts';
import { stampRecordedTime } from './transaction-body.ts';

const FORMAT = 2;
/** Format of definitions of inactive versions, and of deletions of inactive versions only. */
const INACTIVE_FORMAT = 7;
/** Bytes of every part of a blob but the last (decisions 9.1). */
export const BLOB_PART_BYTES: number = 1024 * 1024;

const ENTRY_KIND = { PART: 2, DEFINE: 3, STATUS: 4, DELETE: 5, EXPIRE: 6 } as const;
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
      readonly isInactive?: true;
    }
  | (ComponentTitle & { readonly kind: 'set-status'; readonly version: VersionNumber; readonly status: VersionStatus })
  /** Without a version: all versions of the name. `onlyInactive`: nothing is deleted if one of them is active. */
  | (ComponentTitle & {
      readonly kind: 'delete';
      readonly version: VersionNumber | undefined;
      readonly onlyInactive?: true;
    })
  /** Invalidates the folded states of every version of the State View. */
  | { readonly kind: 'expire'; readonly name: ComponentName };

export interface TimedDefinitionEntry {
  readonly recordedTimeMs: number;
  readonly entry: DefinitionEntry;
}

/** The recorded time is 0 until `stampDefinitionEntry`. */
export function encodeDefinitionEntry(entry: DefinitionEntry): Uint8Array {
  const writer = new ByteWriter(HEAD_BYTES + (entry.kind === 'part' ? entry.bytes.length : 0));
  writer.u8(isOfInactive(entry) ? INACTIVE_FORMAT : FORMAT);
  writer.u8(kindOf(entry));
  writer.u64le(0);
  switch (entry.kind) {
    case 'part':
      writeBlob(writer, entry.blob);
      writer.varint(entry.part);
      writer.bytes(entry.bytes);
      break;
    case 'define':
      writeBlob(writer, entry.blob);
      writer.bytes(encodeDefinition(entry.definition));
      break;
    case 'set-status':
      writeTitle(writer, entry);
      writer.varint(entry.version);
      writer.u8(entry.status.active ? 1 : 0);
      writer.u8(MAINTENANCE_MODES.indexOf(entry.status.mode));
      break;
    case 'delete':
      writeTitle(writer, entry);
      writer.varint(entry.version ?? 0);
      break;
    case 'expire':
      writeTitle(writer, { component: 'state-view', name: entry.name });
      break;
  }
  return writer.handOver();
}

/** Returns true when a payload of a database is a definition entry. */
export function definesSomething(payload: Uint8Array): boolean {
  return payload[0] === FORMAT || payload[0] === INACTIVE_FORMAT;
}

function isOfInactive(entry: DefinitionEntry): boolean {
  return (
    (entry.kind === 'define' && entry.isInactive === true) || (entry.kind === 'delete' && entry.onlyInactive === true)
  );
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

/** Decodes a payload that was stored without the bytes of a part (`splitDefinitionPayload`): the part is then empty. */
export function decodeDefinitionHead(head: Uint8Array): TimedDefinitionEntry | undefined {
  return decode(head, true);
}

/** Splits a payload: the head that ledgers are built from, and the bytes of a part, empty in every other entry. */
export function splitDefinitionPayload(
  payload: Uint8Array,
  entry: DefinitionEntry,
): { readonly head: Uint8Array; readonly bytes: Uint8Array } {
  const bytes = entry.kind === 'part' ? entry.bytes : NO_BYTES;
  return { head: payload.subarray(0, payload.length - bytes.length), bytes };
}

function decode(payload: Uint8Array, isHead: boolean): TimedDefinitionEntry | undefined {
  const reader = new ByteReader(payload);
  if (!definesSomething(payload)) return undefined;
  const isInactive = reader.u8() === INACTIVE_FORMAT;
  const kind = reader.u8();
  const recordedTimeMs = reader.u64le();
  const entry = isInactive ? readInactive(reader, kind) : readEntry(reader, kind, isHead);
  return entry === undefined || reader.failed || reader.left > 0 ? undefined : { recordedTimeMs, entry };
}

/** Number of parts of a blob. */
export function partCountOf({ size }: ComponentReference): number {
  return Math.ceil(size / BLOB_PART_BYTES);
}

function readEntry(reader: ByteReader, kind: number, isHead: boolean): DefinitionEntry | undefined {
  if (kind === ENTRY_KIND.PART) return readPart(reader, isHead);
  if (kind === ENTRY_KIND.DEFINE) return readDefine(reader);
  const title = readTitle(reader);
  if (title === undefined) return undefined;
  if (kind === ENTRY_KIND.STATUS) return readStatus(reader, title);
  if (kind === ENTRY_KIND.DELETE) {
    const version = reader.varint();
    return { kind: 'delete', ...title, version: isVersionNumber(version) ? version : undefined };
  }
  return kind === ENTRY_KIND.EXPIRE && title.component === 'state-view'
    ? { kind: 'expire', name: title.name }
    : undefined;
}

function readInactive(reader: ByteReader, kind: number): DefinitionEntry | undefined {
  const entry = kind === ENTRY_KIND.DEFINE || kind === ENTRY_KIND.DELETE ? readEntry(reader, kind, false) : undefined;
  if (entry?.kind === 'define') return { ...entry, isInactive: true };
  return entry?.kind === 'delete' ? { ...entry, onlyInactive: true } : undefined;
}

function readPart(reader: ByteReader, isHead: boolean): DefinitionEntry | undefined {
  const blob = readBlob(reader);
  const part = reader.varint();
  const bytes = reader.bytes(reader.left);
  if (blob === undefined || reader.failed || part >= partCountOf(blob)) return undefined;
  const expected = Math.min(BLOB_PART_BYTES, blob.size - part * BLOB_PART_BYTES);
  return bytes.length === (isHead ? 0 : expected) ? { kind: 'part', blob, part, bytes } : undefined;
}

function readDefine(reader: ByteReader): DefinitionEntry | undefined {
  const blob = readBlob(reader);
  const definition = decodeDefinition(reader.bytes(reader.left));
  return blob && definition && { kind: 'define', blob, definition };
}

function readStatus(reader: ByteReader, title: ComponentTitle): DefinitionEntry | undefined {
  const version = reader.varint();
  const active = reader.u8();
  const mode = MAINTENANCE_MODES[reader.u8()];
  if (!isVersionNumber(version) || active > 1 || mode === undefined) return undefined;
  return { kind: 'set-status', ...title, version, status: { active: active === 1, mode } };
}

function readBlob(reader: ByteReader): ComponentReference | undefined {
  const digest: string = toHex(reader.bytes(DIGEST_BYTES));
  const size = reader.varint();
  if (!isComponentDigest(digest) || size < 1 || size > COMPONENT_BYTES_MAX) return undefined;
  return { digest, size };
}

function readTitle(reader: ByteReader): ComponentTitle | undefined {
  const component = COMPONENT_KINDS[reader.u8() - 1];
  const name = reader.utf8(reader.varint());
  return component !== undefined && isComponentName(name) ? { component, name } : undefined;
}

function writeBlob(writer: ByteWriter, { digest, size }: ComponentReference): void {
  writer.bytes(bytesOfDigest(digest));
  writer.varint(size);
}

function writeTitle(writer: ByteWriter, { component, name }: ComponentTitle): void {
  const text = encodeUtf8(name);
  writer.u8(COMPONENT_KINDS.indexOf(component) + 1);
  writer.varint(text.length);
  writer.bytes(text);
}

function bytesOfDigest(digest: ComponentDigest): Uint8Array {
  const bytes = parseHex(digest);
  assert(bytes?.length === DIGEST_BYTES, 'A digest has 32 bytes', digest);
  return bytes;
}

const KINDS: Record<DefinitionEntry['kind'], number> = {
  part: ENTRY_KIND.PART,
  define: ENTRY_KIND.DEFINE,
  'set-status': ENTRY_KIND.STATUS,
  delete: ENTRY_KIND.DELETE,
  expire: ENTRY_KIND.EXPIRE,
};

function kindOf({ kind }: DefinitionEntry): number {
  return KINDS[kind];
}

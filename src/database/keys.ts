/**
 * The keys of one group's rows (docs/formats/keys.md). g is the group, 4 bytes; integers are big-endian, so that keys
 * sort as numbers; a term is UTF-8 without 00 and ended by 00, so that a prefix of terms is a range.
 *
 * ```
 * 01 g 00                      applied row
 * 01 g 02 transaction_id       transaction row
 * 01 g 03 stream 00            head of a stream        \
 * 01 g 04 type 00              head of an event type    |  the bytes after `01 g` are the head's tail: it names the
 * 01 g 05 00                   head of "no subject"     |  list in the keys of its chunks and tips, too
 * 01 g 05 01 subject 00        head of a subject        |
 * 01 g 0a source 00            head of a source        /
 * 01 g 06 tail revision index  posting chunk; the position is that of the LAST entry in it
 * 01 g 07 tail mask id…        tip row of a spilled head
 * 01 g 08 hash                 event-id row
 * 01 g 09 second revision      effective-time row: a second, and the first revision in it
 * 01 g 0c transaction_id       position of the latest refusal of the transaction
 * 01 g 0d number               position of a definition's record, counted from 1
 * 01 g 0e digest part          position of the record with a part of a component
 * 01 g 10 block                bindings of 64 groups (catalog group only)
 * 01 g 11                      nodes of the cluster (catalog group only)
 * 01 g 12                      level of the cluster (catalog group only)
 * 01 g 13 block                API keys with this first digit (catalog group only)
 * 01 g ff revision             position of the revision's record in the history
 * ```
 * The values are defined elsewhere.
 */
import { ByteReader, ByteWriter, CATALOG_GROUP, type GroupId, NO_BYTES, parseHex } from '#base';
import { readU32 } from '#kv';
import type { ComponentDigest, Position } from '#model';

/** First byte of the keys of all groups. */
const GROUP_ROWS = 0x01;

export const TABLE = {
  APPLIED: 0x00,
  TRANSACTION: 0x02,
  CHUNK: 0x06,
  TIP: 0x07,
  EVENT_ID: 0x08,
  TIME: 0x09,
  REFUSAL: 0x0c,
  DEFINITION: 0x0d,
  COMPONENT: 0x0e,
  BINDINGS: 0x10,
  NODES: 0x11,
  LEVEL: 0x12,
  API_KEYS: 0x13,
  /** The last table: new rows are after all others, so LevelDB moves their tables unread (ADR 0013). */
  POSITION: 0xff,
} as const;

/** Attribute whose events a head lists; the number is the head's table. */
export const HEAD_KIND = { STREAM: 0x03, TYPE: 0x04, SUBJECT: 0x05, SOURCE: 0x0a } as const;

export type HeadKind = (typeof HEAD_KIND)[keyof typeof HEAD_KIND];

/** Names one posting list: the value of an attribute, or (`term` undefined, subjects only) its absence. */
export interface HeadName {
  readonly kind: HeadKind;
  readonly term: Uint8Array | undefined;
}

/** The list of the events that have no subject. */
export const NO_SUBJECT_HEAD: HeadName = Object.freeze({ kind: HEAD_KIND.SUBJECT, term: undefined });

/** Fields of the key of an effective-time row. */
export interface TimeRowKey {
  readonly seconds: number;
  /** The first revision in the row. */
  readonly firstRevision: number;
}

export interface KeyRange {
  readonly gte: Uint8Array;
  readonly lt: Uint8Array;
}

/** Bytes of `01 g`. */
export const GROUP_PREFIX_BYTES = 5;
/** The same with the table. */
const PREFIX_BYTES: number = GROUP_PREFIX_BYTES + 1;
/** Bytes of a position: revision and index. */
const POSITION_BYTES = 10;
/** Bytes of the key of the list without a subject; that of a subject is longer. */
export const SUBJECT_NONE_BYTES: number = PREFIX_BYTES + 1;
const SUBJECT_NONE = 0x00;
const SUBJECT_SOME = 0x01;
/** Seconds of 0001-01-01 before 1970: added, so that every second of the supported years is 0 or more. */
const SECONDS_BIAS: number = 62_135_596_800;

/** Builds the keys of one group. Every key is lent: it is valid until the next one is built. Ranges are owned. */
export class RowKeys {
  readonly group: GroupId;
  readonly #key = new ByteWriter(64);

  constructor(group: GroupId) {
    this.group = group;
  }

  applied(): Uint8Array {
    return this.#start(TABLE.APPLIED).view();
  }

  position(revision: number): Uint8Array {
    return this.#numbered(TABLE.POSITION, revision);
  }

  transaction(transactionId: Uint8Array): Uint8Array {
    const key = this.#start(TABLE.TRANSACTION);
    key.bytes(transactionId);
    return key.view();
  }

  head(name: HeadName): Uint8Array {
    const key = this.#start(name.kind);
    appendTerm(key, name);
    return key.view();
  }

  /** The head of the subject `bytes[from, to)`. */
  subject(bytes: Uint8Array, from: number, to: number): Uint8Array {
    const key = this.#start(HEAD_KIND.SUBJECT);
    key.u8(SUBJECT_SOME);
    key.slice(bytes, from, to);
    key.u8(0);
    return key.view();
  }

  chunk(name: HeadName, revision: number, index: number): Uint8Array {
    const key = this.#start(TABLE.CHUNK);
    appendTail(key, name);
    key.u64be(revision);
    key.u16be(index);
    return key.view();
  }

  tip(name: HeadName, mask: number, ids: readonly number[]): Uint8Array {
    const key = this.#start(TABLE.TIP);
    appendTail(key, name);
    key.u8(mask);
    for (const id of ids) key.u32be(id);
    return key.view();
  }

  eventId(hashHigh: number, hashLow: number): Uint8Array {
    const key = this.#start(TABLE.EVENT_ID);
    key.u32be(hashHigh);
    key.u32be(hashLow);
    return key.view();
  }

  time(second: number, firstRevision: number): Uint8Array {
    const key = this.#start(TABLE.TIME);
    key.u64be(second + SECONDS_BIAS);
    key.u64be(firstRevision);
    return key.view();
  }

  bindings(block: number): Uint8Array {
    const key = this.#start(TABLE.BINDINGS);
    key.u32be(block);
    return key.view();
  }

  nodes(): Uint8Array {
    return this.#start(TABLE.NODES).view();
  }

  level(): Uint8Array {
    return this.#start(TABLE.LEVEL).view();
  }

  apiKeys(block: number): Uint8Array {
    const key = this.#start(TABLE.API_KEYS);
    key.u8(block);
    return key.view();
  }

  definition(number: number): Uint8Array {
    return this.#numbered(TABLE.DEFINITION, number);
  }

  componentPart(digest: ComponentDigest, part: number): Uint8Array {
    const key = this.#start(TABLE.COMPONENT);
    key.bytes(parseHex(digest) ?? NO_BYTES);
    key.u32be(part);
    return key.view();
  }

  refusal(transactionId: Uint8Array): Uint8Array {
    const key = this.#start(TABLE.REFUSAL);
    key.bytes(transactionId);
    return key.view();
  }

  /** Every row of the group. */
  all(): KeyRange {
    return this.tables(0, 0x100);
  }

  /** The rows of the tables `[from, to)`. */
  tables(from: number, to: number): KeyRange {
    const start = (table: number): Uint8Array =>
      table < 0x100 ? this.#start(table).take() : this.#startOfGroup(this.group + 1).take();
    return { gte: start(from), lt: start(to) };
  }

  /** The positions of the revisions `[from, to)`. */
  positions(from: number, to: number): KeyRange {
    return { gte: this.position(from).slice(), lt: this.position(to).slice() };
  }

  /** The heads of a kind whose terms begin with `prefix`; for subjects without "no subject". */
  heads(kind: HeadKind, prefix: Uint8Array): KeyRange {
    const key = this.#start(kind);
    if (kind === HEAD_KIND.SUBJECT) key.u8(SUBJECT_SOME);
    key.bytes(prefix);
    return prefixRange(key.take());
  }

  /** The chunks of a list whose last position is in `[from, to)`. */
  chunks(name: HeadName, from: Position, to: Position): KeyRange {
    const bound = (at: Position): Uint8Array => this.chunk(name, at.revision, at.index).slice();
    return { gte: bound(from), lt: bound(to) };
  }

  /** The time rows of the seconds `[from, to)`. */
  times(from: number, to: number): KeyRange {
    return { gte: this.time(from, 0).slice(), lt: this.time(to, 0).slice() };
  }

  #numbered(table: number, value: number): Uint8Array {
    const key = this.#start(table);
    key.u64be(value);
    return key.view();
  }

  #start(table: number): ByteWriter {
    const key = this.#startOfGroup(this.group);
    key.u8(table);
    return key;
  }

  #startOfGroup(group: number): ByteWriter {
    this.#key.reset();
    this.#key.u8(GROUP_ROWS);
    this.#key.u32be(group);
    return this.#key;
  }
}

/** False for rows of the ledger: those of the catalog and of the node. */
export function isOfDatabase(key: Uint8Array): boolean {
  return key[0] === GROUP_ROWS && key.length >= GROUP_PREFIX_BYTES && readU32(key, 1) !== CATALOG_GROUP;
}

export function tableOfKey(key: Uint8Array): number {
  return key[PREFIX_BYTES - 1] ?? 0;
}

/** The term in the key of a head (never "no subject"): a view into the key. */
export function headTerm(kind: HeadKind, key: Uint8Array): Uint8Array {
  const from = kind === HEAD_KIND.SUBJECT ? PREFIX_BYTES + 1 : PREFIX_BYTES;
  return key.subarray(from, key.length - 1);
}

/** The revision in the key of a position. */
export function revisionOfPosition(key: Uint8Array): number {
  return new ByteReader(key, PREFIX_BYTES).u64be();
}

/** The position in the key of a posting chunk: that of its last entry. */
export function positionOfChunk(key: Uint8Array): Position {
  const reader = new ByteReader(key, key.length - POSITION_BYTES);
  return { revision: reader.u64be(), index: reader.u16be() };
}

/** The second and the first revision in the key of an effective-time row. */
export function readTimeKey(key: Uint8Array): TimeRowKey {
  const reader = new ByteReader(key, PREFIX_BYTES);
  return { seconds: reader.u64be() - SECONDS_BIAS, firstRevision: reader.u64be() };
}

function appendTail(key: ByteWriter, name: HeadName): void {
  key.u8(name.kind);
  appendTerm(key, name);
}

function appendTerm(key: ByteWriter, name: HeadName): void {
  if (name.kind === HEAD_KIND.SUBJECT) key.u8(name.term === undefined ? SUBJECT_NONE : SUBJECT_SOME);
  if (name.term === undefined) return;
  key.bytes(name.term);
  key.u8(0);
}

function prefixRange(prefix: Uint8Array): KeyRange {
  // No table and no byte of UTF-8 is ff, so the last byte can always be raised.
  const lt = prefix.slice();
  lt[lt.length - 1] = (lt[lt.length - 1] ?? 0) + 1;
  return { gte: prefix, lt };
}

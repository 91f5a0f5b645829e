/**
 * #base: the vocabulary below every other layer.
 *
 * For: branded numbers and ids, the three kinds of failure (a broken invariant stops the node, a `DatabaseError`
 * reaches a caller, a `Result` is an expected outcome), and the small pure pieces that every layer shares.
 *
 * Not here: anything that knows what an event, a log or a request is, and anything that does I/O, reads a clock or
 * draws a random number. This layer is pure: no Node, no npm, no ambient globals.
 *
 * Invariants:
 *   B1  Revision, LogIndex and Term are safe integers of 0 or more, a GroupId is one of 32 bits; nothing else carries
 *       their brand.
 *   B2  ERROR_CODES is the whole set of codes; a DatabaseError carries one of them and never a wire code.
 *   B3  A ByteReader reads back the output of a ByteWriter; a reader never throws and never reads past its end. The
 *       same holds for records, and for protobuf fields and the ProtoReader, whatever the bytes are.
 *   B5  A replica id is assigned once, and contains its node.
 *   B4  Instants, UUIDs and base64 have one canonical spelling each, which is parsed back to the same value.
 */
export { type Address, formatAddress, isHost, parseAddress } from './address.ts';
export { assert, BrokenInvariant, unreachable } from './assert.ts';
export { fromBase64, fromBase64Url, toBase64Url } from './base64.ts';
export { type ErrorLog, type ListenAddress, listen } from './bind-port.ts';
export {
  type AskedRevision,
  type Brand,
  CATALOG_GROUP,
  type DatabaseId,
  type GroupId,
  isDatabaseId,
  isGroupId,
  isLogIndex,
  isRevision,
  isTerm,
  type LogIndex,
  nearestRevision,
  type Revision,
  type Term,
  toAskedRevision,
  toDatabaseId,
  toGroupId,
  toLogIndex,
  toRevision,
  toTerm,
} from './brand.ts';
export {
  BYTES,
  DATABASE_ID,
  type DependentField,
  type Field,
  type Fields,
  FLAG,
  fail,
  fieldsOf,
  fixedBytes,
  type Kinds,
  kindsOf,
  listOf,
  mapped,
  oneOf,
  optional,
  REST,
  REVISION,
  TEXT,
  U64,
  UUID,
  VARINT,
  VIEW,
  valid,
} from './byte-fields.ts';
export { ByteReader } from './byte-reader.ts';
export { ByteWriter, varintLength } from './byte-writer.ts';
export {
  compareBytes,
  concatBytes,
  copyRange,
  equalsRange,
  giveBack,
  hasBytesAt,
  NO_BYTES,
  parseHex,
  toHex,
} from './bytes.ts';
export { crc32, crc32c } from './crc32.ts';
export {
  type ConstraintViolation,
  DatabaseError,
  ERROR_CODES,
  type ErrorCode,
  type ErrorDetails,
  type ErrorScope,
  type FieldViolation,
  type GroupHolders,
  type LeaderAddress,
  messageOf,
} from './error.ts';
export { Fifo } from './fifo.ts';
export {
  compareInstants,
  formatInstant,
  INSTANT_SECONDS_MAX,
  INSTANT_SECONDS_MIN,
  type Instant,
  instantFault,
  instantFromMs,
  instantToMs,
  isInstant,
  parseInstant,
} from './instant.ts';
export { formatLevels, hasLevel, isLevelRange, LEVEL_FIRST, LEVELS, type LevelRange } from './levels.ts';
export { Link, LinkedList } from './linked-list.ts';
export { nearestName } from './nearest-name.ts';
export type { Clock, Crc32, Random, Sha256, Timers } from './ports.ts';
export { ProtoReader } from './proto-reader.ts';
export {
  beginMessage,
  WIRE_BYTES,
  WIRE_FIXED64,
  WIRE_VARINT,
  writeBytesField,
  writeSignedField,
  writeTag,
  writeTextField,
  writeVarintField,
} from './proto-writer.ts';
export { cut, escapeUnseen, quote } from './quote.ts';
export {
  COPIES_MAX,
  copyOf,
  hasNode,
  isCopy,
  isNodeId,
  isReplicaId,
  type NodeId,
  nodeOf,
  type ReplicaId,
  replicaOf,
  toNodeId,
  toReplicaId,
} from './replica.ts';
export { failure, ok, type Result } from './result.ts';
export { Slots } from './slots.ts';
export { decodeUtf8, encodeUtf8 } from './utf8.ts';
export { codePointAt, indexOfIllFormed, sequenceLength, utf8Length } from './utf8-scan.ts';
export { formatUuid, parseUuid, uuidBytes, uuidv7, uuidv7Bytes } from './uuid.ts';
export { caught, ignoring, inParallel, whenDone } from './when-done.ts';

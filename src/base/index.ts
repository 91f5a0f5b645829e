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
 *   B1  Revision, LogIndex and Term are safe integers of 0 or more, a GroupId is one of 32 bits; nothing else carries their brand.
 *   B2  ERROR_CODES is the whole set of codes; a DatabaseError carries one of them and never a wire code.
 *   B3  What a ByteWriter wrote a ByteReader reads back; a reader never throws and never reads past its end.
 */
export { assert, BrokenInvariant, unreachable } from './assert.ts';
export {
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
  type Revision,
  type Term,
  toDatabaseId,
  toGroupId,
  toLogIndex,
  toRevision,
  toTerm,
} from './brand.ts';
export { ByteReader } from './byte-reader.ts';
export { ByteWriter, varintLength } from './byte-writer.ts';
export { crc32 } from './crc32.ts';
export {
  type ConstraintViolation,
  DatabaseError,
  ERROR_CODES,
  type ErrorCode,
  type ErrorContext,
  type ErrorDetails,
  type FieldViolation,
  type LeaderAddress,
} from './error.ts';
export { parseHex, toHex } from './hex.ts';
export type { Clock, Crc32, Random, Sha256 } from './ports.ts';
export { type Failure, failure, type Ok, ok, type Result } from './result.ts';
export { decodeUtf8, encodeUtf8, encodeUtf8Into } from './utf8.ts';
export { formatUuid, parseUuid, uuidv7, uuidv7TimeMs } from './uuid.ts';

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
export { type Failure, failure, type Ok, ok, type Result } from './result.ts';

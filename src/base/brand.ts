/**
 * Branded numbers and names: two of different kinds never compare or assign by accident.
 *
 * Each brand has a guard for untrusted values (`isRevision`), and a constructor for values that were checked before
 * (`toRevision`: a wrong value is a bug). Numbers stay below 2^53; bigint exists only inside codecs and for larger
 * values in requests.
 */
import { assert } from './assert.ts';

declare const brand: unique symbol;

/** A `Value` that only its own guard and constructor can make. */
export type Brand<Value, Name extends string> = Value & { readonly [brand]: Name };

/** Numbers one committed transaction of one database, gap-free; 0 is the empty database. */
export type Revision = Brand<number, 'Revision'>;

/**
 * A revision that a request names: any uint64. No database reaches 2^53. Such values stay a bigint, so
 * that the reply can name them. They are compared and printed, never computed with.
 */
export type AskedRevision = Revision | bigint;

/** Position of an entry in the log of one Raft group; the first entry is 1, 0 is "before the first". */
export type LogIndex = Brand<number, 'LogIndex'>;

/** Raft term; 0 is "before the first election". */
export type Term = Brand<number, 'Term'>;

/** Identity of one database instance: a UUIDv7 in lowercase canonical form. A re-created database has a new one. */
export type DatabaseId = Brand<string, 'DatabaseId'>;

/** Number of a Raft group on every node with a replica: 32 bits, never reused. Group 0 is the catalog. */
export type GroupId = Brand<number, 'GroupId'>;

const GROUP_ID_MAX = 2 ** 32 - 1;
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

export function isRevision(value: number): value is Revision {
  return isCount(value);
}

export function toRevision(value: number): Revision {
  assert(isRevision(value), 'A revision is an integer from 0 to 2^53 - 1', value);
  return value;
}

export function toAskedRevision(value: number | bigint): AskedRevision {
  return typeof value === 'bigint' ? value : toRevision(value);
}

/** For a bound or a position, where the distance beyond every database does not matter. */
export function nearestRevision(asked: number | bigint): Revision {
  return toRevision(typeof asked === 'bigint' ? Number.MAX_SAFE_INTEGER : asked);
}

export function isLogIndex(value: number): value is LogIndex {
  return isCount(value);
}

export function toLogIndex(value: number): LogIndex {
  assert(isLogIndex(value), 'A log index is an integer from 0 to 2^53 - 1', value);
  return value;
}

export function isTerm(value: number): value is Term {
  return isCount(value);
}

export function toTerm(value: number): Term {
  assert(isTerm(value), 'A term is an integer from 0 to 2^53 - 1', value);
  return value;
}

export function isGroupId(value: number): value is GroupId {
  return Number.isInteger(value) && value >= 0 && value <= GROUP_ID_MAX;
}

export function toGroupId(value: number): GroupId {
  assert(isGroupId(value), 'A group id is an integer from 0 to 2^32 - 1', value);
  return value;
}

export function isDatabaseId(text: string): text is DatabaseId {
  return UUID_V7.test(text);
}

export function toDatabaseId(text: string): DatabaseId {
  assert(isDatabaseId(text), 'A database_id is a UUIDv7 in lowercase', text);
  return text;
}

/** The group of the catalog, which maps names to databases and groups. */
export const CATALOG_GROUP: GroupId = toGroupId(0);

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

/** What the small state machines of toy-machines.ts keep in a store, and how it is written. */
import { CATALOG_GROUP, encodeUtf8, type GroupId, toLogIndex, toRevision, toTerm } from '#base';
import type { AppliedMark, Binding, HeldMembership, KeyRange, RegisteredNode } from '#cluster';
import { KeyWriter, type KvReader } from '#kv';
import type { EntryId, Membership } from '#raft';

export const HEADER_BYTES = 9;
export const KIND = { transact: 1, create: 16, delete: 17, register: 20, mark: 21, place: 24, raise: 27 } as const;

export interface AppliedRow extends AppliedMark {
  readonly members: HeldMembership;
  readonly recordedTimeMs: number;
  readonly checksum: number;
}

export interface RevisionRow {
  readonly text: string;
  readonly recordedTimeMs: number;
  readonly checksum: number;
  /** Its entry. */
  readonly last: EntryId;
}

export const NOTHING: Omit<AppliedRow, 'members'> = {
  index: toLogIndex(0),
  term: toTerm(0),
  revision: toRevision(0),
  logStart: toLogIndex(0),
  recordedTimeMs: 0,
  checksum: 0,
};

export interface CatalogRow extends AppliedMark {
  readonly members: HeldMembership;
  readonly nextGroup: number;
  readonly bindings: readonly Binding[];
  /** In the order of their numbers. */
  readonly nodes: readonly RegisteredNode[];
}

export function first(membership: Membership): HeldMembership {
  return { index: toLogIndex(0), membership };
}

export function payload(kind: number, text: string): Uint8Array {
  const body = encodeUtf8(text);
  const bytes = new Uint8Array(HEADER_BYTES + body.length);
  bytes[0] = kind;
  bytes.set(body, HEADER_BYTES);
  return bytes;
}

export function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes.subarray(HEADER_BYTES));
}

export function timeOf(bytes: Uint8Array): number {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getFloat64(1);
}

export function nextChecksum(checksum: number, text: string): number {
  let next = checksum + 1;
  for (const character of text) next = (Math.imul(next, 31) + (character.codePointAt(0) ?? 0)) | 0;
  return next;
}

export function appliedKey(group: GroupId): Uint8Array {
  return new KeyWriter().u8(1).u32(group).u8(0).key();
}

export function revisionKey(group: GroupId, revision: number): Uint8Array {
  return new KeyWriter().u8(1).u32(group).u8(1).u64(revision).key();
}

export function historyRows(group: GroupId): KeyRange {
  return { gte: revisionKey(group, 0), lt: new KeyWriter().u8(1).u32(group).u8(2).key() };
}

export function readApplied(kv: KvReader, group: GroupId): AppliedRow | undefined {
  const value = kv.get(appliedKey(group));
  return value === undefined ? undefined : (parse(value) as AppliedRow);
}

export function readCatalog(kv: KvReader): CatalogRow | undefined {
  const value = kv.get(appliedKey(CATALOG_GROUP));
  return value === undefined ? undefined : (parse(value) as CatalogRow);
}

export function json(value: unknown): Uint8Array {
  return encodeUtf8(JSON.stringify(value));
}

export function parse(bytes: Uint8Array): unknown {
  return JSON.parse(new TextDecoder().decode(bytes));
}

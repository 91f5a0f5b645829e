/**
 * The feature level of the cluster, in a row of its own, which every release can read: a release that does not support
 * the level must report that before it reads anything else. The format of the row never changes.
 *
 * ```
 * level row       u8 format = 1 | varint level | u32 CRC        none: level 1
 * ```
 *
 *   D20  The level of a cluster only rises, to one that every node supports that is not removed; a node that does not
 *        support it is not registered.
 */
import { type ByteWriter, LEVEL_FIRST } from '#base';
import type { KvReader } from '#kv';
import { closeRow, openRow, sealRow } from './corruption.ts';

const FORMAT = 1;

export function writeLevel(into: ByteWriter, level: number): void {
  into.u8(FORMAT);
  into.varint(level);
  sealRow(into);
}

/** Throws when the row is corrupt. */
export function readLevel(kv: KvReader, key: Uint8Array): number {
  const value = kv.get(key);
  if (value === undefined) return LEVEL_FIRST;
  const row = openRow(key, value, FORMAT);
  const level = row.varint();
  closeRow(key, row);
  return level;
}

/** Reads all rows and the history of a group, and the part of them that must be the same on every replica. */
import { ByteWriter, type GroupId, NO_BYTES, toHex } from '#base';
import { RowKeys, readTimeRow } from '#database';
import type { KvReader, KvRow } from '#kv';
import { readAppliedRow } from '../../src/database/applied.ts';
import { putRow } from '../../src/database/corruption.ts';
import { readTimeKey, TABLE, tableOfKey } from '../../src/database/keys.ts';
import { sourceOf } from './database-host.ts';
import { memoryKv } from './memory-kv.ts';

const GROUP = sourceOf(memoryKv()).group;

async function rowsOf(kv: KvReader, group: GroupId): Promise<readonly KvRow[]> {
  const range = kv.range(new RowKeys(group).all());
  const rows: KvRow[] = [];
  for (let slice = await range.next(1000); slice.length > 0; slice = await range.next(1000)) rows.push(...slice);
  await range.close();
  return rows;
}

/** The bytes of the history. */
export function historyOf(kv: KvReader, group: GroupId = GROUP): Uint8Array {
  const key = new RowKeys(group).applied();
  const value = kv.get(key);
  const end = value === undefined ? 0 : readAppliedRow(key, value).end;
  return kv.history.read(group, { from: 0, to: end }).subarray(0, end);
}

/**
 * Every row in hexadecimal, and the history. Of the rows of effective times the entries: only how they are grouped
 * depends on flushes.
 */
export async function dump(kv: KvReader, group: GroupId = GROUP): Promise<readonly string[]> {
  const rows = await rowsOf(kv, group);
  const isTime = ({ key }: KvRow): boolean => tableOfKey(key) === TABLE.TIME;
  const times = rows.filter(isTime).flatMap(({ key, value }) => {
    const entries = readTimeRow(key, value, readTimeKey(key));
    return entries.map((entry) => Object.values(entry).join(' '));
  });
  return [
    ...rows.filter((row) => !isTime(row)).map(({ key, value }) => `${toHex(key)} ${toHex(value)}`),
    ...times.toSorted((left, right) => left.localeCompare(right)),
    toHex(historyOf(kv, group)),
  ];
}

/** The content that replicas share, regardless of their flushes and of how the state arrived at them. */
export async function sharedContent(kv: KvReader, group: GroupId = GROUP): Promise<readonly unknown[]> {
  const keys = new RowKeys(group);
  const applied = toHex(keys.applied());
  const shared = (await dump(kv, group)).filter((row) => !row.startsWith(applied));
  return [...shared, appliedContent(kv, keys.applied().slice())];
}

/** Only a replica itself depends on whether it received the state from the log or from a snapshot. */
function appliedContent(kv: KvReader, key: Uint8Array): unknown {
  const value = kv.get(key);
  if (value === undefined) return undefined;
  const { group, ...shared } = readAppliedRow(key, value);
  return { ...shared, logStart: undefined, membership: toHex(group.membership) };
}

/** The value that `write` gives the row with the key. */
export function valueOf(key: Uint8Array, write: (into: ByteWriter) => void): Uint8Array {
  const [row, values] = [new ByteWriter(), [] as Uint8Array[]];
  write(row);
  putRow({ put: (_key, value) => void values.push(value.slice()) }, key, row);
  return values[0] ?? NO_BYTES;
}

/** Reads all rows of a group, and the part of them that must be the same on every replica. */
import { type GroupId, toHex } from '#base';
import { HEAD_KIND, type HeadKind, inlineEntries, RowKeys } from '#database';
import type { KvReader, KvRow, KvStore } from '#kv';
import { readAppliedRow } from '../../src/database/applied.ts';
import { readChunk, readHead } from '../../src/database/head.ts';
import { headTerm, readTimeKey, tableOfKey } from '../../src/database/keys.ts';
import type { PostingBlock } from '../../src/database/posting.ts';
import { readEventIdRow, readTimeRow, readTransactionRow } from '../../src/database/small-rows.ts';
import { sourceOf } from './database-host.ts';
import { memoryKv } from './memory-kv.ts';

async function rowsOf(kv: KvReader, group: GroupId = sourceOf(memoryKv()).group): Promise<readonly KvRow[]> {
  const range = kv.range(new RowKeys(group).all());
  const rows: KvRow[] = [];
  for (let slice = await range.next(1000); slice.length > 0; slice = await range.next(1000)) rows.push(...slice);
  await range.close();
  return rows;
}

/** Every row in hexadecimal, to compare stores byte by byte. */
export async function dump(kv: KvStore): Promise<readonly string[]> {
  return (await rowsOf(kv)).map(({ key, value }) => `${toHex(key)} ${toHex(value)}`);
}

/** Rows without page boundaries and offsets: the content that replicas share, regardless of their flushes. */
export async function sharedContent(kv: KvReader, group?: GroupId): Promise<readonly unknown[]> {
  const shared: unknown[] = [];
  const times: string[] = [];
  for (const { key, value } of await rowsOf(kv, group)) {
    const table = tableOfKey(key);
    const name = toHex(key);
    const kind = Object.values(HEAD_KIND).find((candidate) => candidate === table);
    if (kind !== undefined) shared.push([name, headContent(kind, key, value)]);
    else if (table === 0x00) shared.push([name, appliedContent(key, value)]);
    else if (table === 0x07) shared.push([name, toHex(value)]);
    // Definitions are the same in every byte.
    else if (table === 0xf0 || table === 0xf1) shared.push([name, toHex(value)]);
    // Each replica counts them from its own start.
    else if (table === 0xf2) shared.push(['refusal', toHex(value)]);
    else if (table === 0x02) shared.push([name, readTransactionRow(key, value).revision]);
    else if (table === 0x06) shared.push([name, entriesOf(readChunk(key, value))]);
    else if (table === 0x08)
      shared.push([name, readEventIdRow(key, value).map(({ revision, index }) => [revision, index])]);
    else if (table === 0x09) {
      const entries = readTimeRow(key, value, readTimeKey(key));
      times.push(...entries.map((entry) => [entry.seconds, entry.nanos, entry.revision, entry.index].join(' ')));
    }
  }
  return [...shared, times.toSorted((left, right) => left.localeCompare(right))];
}

/** Only a replica itself depends on whether it received the state from the log or from a snapshot. */
function appliedContent(key: Uint8Array, value: Uint8Array): unknown {
  const { group, refusals, ...shared } = readAppliedRow(key, value);
  return { ...shared, refusedAt: refusals.index, logStart: undefined, membership: toHex(group.membership) };
}

function headContent(kind: HeadKind, key: Uint8Array, value: Uint8Array): unknown {
  const term = kind === HEAD_KIND.SUBJECT && key.at(-2) === HEAD_KIND.SUBJECT ? undefined : headTerm(kind, key);
  const { inline, name, ...fields } = readHead({ kind, term }, key, value);
  return { ...fields, entries: entriesOf(inlineEntries(key, { inline, name, ...fields })) };
}

function entriesOf(block: PostingBlock): unknown {
  return Array.from({ length: block.count }, (_, place) => {
    const { revision, index, seconds, nanos } = block.entry(place);
    return [revision, index, seconds, nanos];
  });
}

// Goal: no row that counts can be lost or changed without the audit noticing it (D26).
// Method: a database with rows of every table; each row in turn is removed, and each is changed in one bit.
import { beforeAll, describe, expect, it } from 'vitest';
import { toHex } from '#base';
import { auditDatabase, RowKeys } from '#database';
import type { KvRow, KvStore } from '#kv';
import { GROUP_PREFIX_BYTES, TABLE, tableOfKey } from '../../../src/database/keys.ts';
import { DatabaseHost } from '../../support/database-host.ts';
import { transactionOf } from '../../support/database-requests.ts';
import { partOf, SMALL_BLOBS, stamped } from '../../support/definition-entries.ts';

/** Nothing counts them. */
const UNCOUNTED: ReadonlySet<number> = new Set([TABLE.TIP, TABLE.REFUSAL, TABLE.COMPONENT]);

let host: DatabaseHost;
let rows: readonly KvRow[];

beforeAll(async () => {
  host = new DatabaseHost();
  for (const blob of SMALL_BLOBS.slice(0, 2)) host.define(stamped(partOf(blob, 0), 1));
  for (let n = 1; n <= 90; n++) {
    const events = [
      { id: `a-${n}`, type: `t${n % 40}`, source: 'orders', stream: 'orders', subject: `s-${n % 7}` },
      { id: `b-${n}`, type: 't', source: 'carts', stream: 'carts' },
    ];
    await host.apply(transactionOf(events));
    if (n % 8 === 0) await host.flush();
  }
  await host.flush();
  const range = host.kv.range(new RowKeys(host.source.group).all());
  rows = await range.next(10_000);
  await range.close();
});

async function put(kv: KvStore, key: Uint8Array, value: Uint8Array | undefined): Promise<void> {
  const batch = kv.batch();
  if (value === undefined) batch.del(key);
  else batch.put(key, value);
  await kv.write(batch);
}

async function auditWith(key: Uint8Array, value: Uint8Array | undefined): Promise<string | undefined> {
  const before = host.kv.get(key);
  await put(host.kv, key, value);
  const fault = await auditDatabase(host.source);
  await put(host.kv, key, before);
  return fault;
}

describe('the audit of a database (D26)', () => {
  it('passes a database whose rows are all there', async () => {
    expect(await auditDatabase(host.source)).toBeUndefined();
    const tables = new Set(rows.map(({ key }) => tableOfKey(key)));
    for (const table of [TABLE.CHUNK, TABLE.TIP, TABLE.TIME, TABLE.DEFINITION, TABLE.POSITION])
      expect(tables, `table ${table}`).toContain(table);
  });

  it('reports every counted row that is missing', async () => {
    const missed: string[] = [];
    for (const { key } of rows) {
      if (UNCOUNTED.has(tableOfKey(key))) continue;
      if ((await auditWith(key, undefined)) === undefined) missed.push(toHex(key));
    }
    expect(missed).toEqual([]);
  });

  it('reports every row whose value has a wrong bit', async () => {
    const missed: string[] = [];
    for (const [n, { key, value }] of rows.entries()) {
      const wrong = value.slice();
      const at = n % wrong.length;
      wrong[at] = (wrong[at] ?? 0) ^ (1 << (n % 8));
      if ((await auditWith(key, wrong)) === undefined) missed.push(toHex(key));
    }
    expect(missed).toEqual([]);
  });

  it('reports every row that is under a wrong key, whichever group it seems to be of', async () => {
    const missed: string[] = [];
    for (const [n, { key, value }] of rows.entries()) {
      const wrong = key.slice();
      const at = 1 + (n % (key.length - 1));
      wrong[at] = (wrong[at] ?? 0) ^ (1 << (n % 8));
      await put(host.kv, key, undefined);
      const replaced = host.kv.get(wrong);
      await put(host.kv, wrong, value);
      const fault = await auditDatabase(host.source);
      const isTip = UNCOUNTED.has(tableOfKey(key)) && at < GROUP_PREFIX_BYTES;
      if (fault === undefined && !isTip) missed.push(toHex(key));
      await put(host.kv, wrong, replaced);
      await put(host.kv, key, value);
    }
    expect(missed).toEqual([]);
  });

  it('says what is missing, and how many', async () => {
    const { keys } = host.reader();
    expect(await auditWith(keys.position(7).slice(), undefined)).toBe('rows of positions: 89 instead of 90');
    expect(await auditWith(keys.applied().slice(), undefined)).toBe('the applied row is missing');
  });
});

// Goal: missing or wrong rows of definitions are found after a crash and between replicas; a component may be removed
// while it is sent (D11, D16, D23). Method: three components, each fault in turn.
import { describe, expect, it } from 'vitest';
import { NO_BYTES, toHex, toLogIndex, toRevision } from '#base';
import { componentBytes, componentPart, ReadDefinitions, rebuildDerived, verifyDefinitions } from '#database';
import type { KvStore } from '#kv';
import { BLOB_PART_BYTES, type DefinitionEntry } from '#model';
import { digestBytes } from '../../../src/database/definition-record.ts';
import { DatabaseHost, historyFor, takeOver } from '../../support/database-host.ts';
import { transactionOf } from '../../support/database-requests.ts';
import { sharedContent } from '../../support/database-rows.ts';
import { blobOf, DEFINITIONS, partOf, stamped } from '../../support/definition-entries.ts';

const SMALL = blobOf('a', 30);
const LARGE = blobOf('c', BLOB_PART_BYTES + 5);
const [FIRST, SECOND] = DEFINITIONS;
if (FIRST === undefined || SECOND === undefined) throw new Error('there are two definitions');
const { kind: component, name } = SECOND;
const DELETE_LARGE: DefinitionEntry = { kind: 'delete', component, name, version: undefined };

/** Entries 1 to 9: two transactions, then the components; each has its own batch. */
const ENTRIES: readonly DefinitionEntry[] = [
  partOf(SMALL, 0),
  { kind: 'define', blob: SMALL, definition: FIRST },
  partOf(LARGE, 0),
  partOf(LARGE, 1),
  { kind: 'define', blob: LARGE, definition: SECOND },
  // This entry is refused, so it has no record.
  partOf(LARGE, 0),
];
const LARGE_BYTES = new Uint8Array(LARGE.size).fill(0x63, 0, BLOB_PART_BYTES).fill(0x64, BLOB_PART_BYTES);
const DURABLE = toLogIndex(3);
const LAST = 2 + ENTRIES.length;

async function transact(host: DatabaseHost, n: number): Promise<void> {
  const events = [{ id: `e-${n}`, type: 't', source: 'orders', stream: 'orders' }];
  await host.apply(transactionOf(events));
}

async function fullHost(): Promise<DatabaseHost> {
  const host = new DatabaseHost();
  for (const n of [1, 2]) await transact(host, n);
  for (const [at, entry] of ENTRIES.entries()) {
    host.define(stamped(entry, 2000 + at));
    await host.flush();
  }
  return host;
}

async function put(kv: KvStore, key: Uint8Array, value: Uint8Array | undefined): Promise<void> {
  const batch = kv.batch();
  if (value === undefined) batch.del(key);
  else batch.put(key, value);
  await kv.write(batch);
}

it.each([4, 7])('verifyDefinitions (D11) reports a missing or different record of entry %i', async (index) => {
  const host = await fullHost();
  const key = host.reader().keys.definition(index).slice();
  const whole = host.kv.get(key)?.slice() ?? NO_BYTES;
  for (const value of [undefined, whole.with(7, (whole[7] ?? 0) ^ 1)]) {
    await put(host.kv, key, value);
    expect(await verifyDefinitions(host.reader(), DURABLE)).toMatchObject({ kind: 'broken' });
  }
  const { keys } = host.reader();
  await put(host.kv, key, host.kv.get(keys.definition(index === 4 ? 5 : 4).slice()));
  expect(await verifyDefinitions(host.reader(), DURABLE)).toMatchObject({ kind: 'broken' });
  await put(host.kv, key, whole);
  expect(await verifyDefinitions(host.reader(), DURABLE)).toEqual({ kind: 'whole' });
});

it('verifyDefinitions (D11) reports a missing or different part after the durable entry', async () => {
  const host = await fullHost();
  const key = host.reader().keys.componentPart(digestBytes(LARGE.digest), 1).slice();
  const small = host.kv.get(host.reader().keys.componentPart(digestBytes(SMALL.digest), 0));
  for (const value of [undefined, small]) {
    await put(host.kv, key, value);
    expect(await verifyDefinitions(host.reader(), DURABLE)).toMatchObject({
      kind: 'broken',
      fault: `part 1 of the component ${LARGE.digest} is not whole`,
    });
  }
});

it.each([4, 7])(
  'ReadDefinitions (D24) throws for a missing record of entry %i, and continues when it exists',
  async (index) => {
    const host = await fullHost();
    const definitions = new ReadDefinitions(host.source);
    const key = host.reader().keys.definition(index).slice();
    const whole = host.kv.get(key)?.slice() ?? NO_BYTES;
    await put(host.kv, key, undefined);
    await expect(definitions.current()).rejects.toThrow(/record before it is missing|not that of the applied row/);
    await put(host.kv, key, whole.with(7, (whole[7] ?? 0) ^ 1));
    await expect(definitions.current()).rejects.toThrow(/checksum/);
    await put(host.kv, key, whole);
    const found = await definitions.current();
    expect(found.list(toRevision(2)).map((each) => each.component)).toEqual([SMALL, LARGE]);
    expect(found.versions({ component, name }, toRevision(2))).toMatchObject([{ version: 1 }]);
  },
);

describe('the parts of a component (D23)', () => {
  it('are returned as they arrived, and are removed with the last version that names them', async () => {
    const host = await fullHost();
    const part = componentPart(host.reader(), LARGE.digest, 1);
    expect(part && toHex(part)).toBe('64'.repeat(5));
    expect(await componentBytes(host.source, LARGE)).toEqual(LARGE_BYTES);
    expect(await componentBytes(host.source, { ...LARGE, size: LARGE.size - 1 })).toBeUndefined();
    expect(await componentBytes(host.source, { ...LARGE, size: LARGE.size + 1 })).toBeUndefined();
    host.define(stamped(DELETE_LARGE, 3000));
    await host.flush();
    expect([0, 1].map((each) => componentPart(host.reader(), LARGE.digest, each))).toEqual([undefined, undefined]);
    expect(await componentBytes(host.source, LARGE)).toBeUndefined();
    expect(componentPart(host.reader(), SMALL.digest, 0)).toHaveLength(30);
  });

  it('may be removed while they are sent: the record is sent alone, and the log has the reason', async () => {
    const host = await fullHost();
    const other = new DatabaseHost();
    const history = historyFor(host, other);
    expect(await history.faultInComponents()).toBeUndefined();
    host.define(stamped(DELETE_LARGE, 3000));
    await host.flush();
    await takeOver(history, other, 100);
    const { term } = other.machine.applied;
    other.machine.define({ index: toLogIndex(LAST + 1), term, payload: stamped(DELETE_LARGE, 3000) });
    await other.flush();
    expect(await sharedContent(other.kv)).toEqual(await sharedContent(host.kv));
  });

  it('are not sent when they are missing without a reason', async () => {
    const host = await fullHost();
    const other = new DatabaseHost();
    const early = historyFor(host, other);
    expect(await early.faultInComponents()).toBeUndefined();
    await put(host.kv, host.reader().keys.componentPart(digestBytes(LARGE.digest), 0).slice(), undefined);
    expect(await historyFor(host, other).faultInComponents()).toMatch(/not whole here yet/);
    await expect(early.next(1e7)).rejects.toThrow('a part of a component is missing');
  });

  it('that were removed after a checkpoint are not offered until the log has repeated the removal', async () => {
    const host = await fullHost();
    const durable = host.machine.applied;
    host.define(stamped(DELETE_LARGE, 3000));
    await host.flush();
    await rebuildDerived(host.kv, host.source, durable);
    const other = new DatabaseHost();
    expect(await historyFor(host, other).faultInComponents()).toMatch(/not whole here yet/);
    expect(await host.reopen(false)).toEqual([]);
    await host.flush();
    expect(await historyFor(host, other).faultInComponents()).toBeUndefined();
  });
});

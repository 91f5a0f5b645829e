// Goal: missing rows and wrong records of definitions are found after a crash; the bytes of components stay (D11, D23).
// Method: two components, each fault in turn.
import { describe, expect, it } from 'vitest';
import { NO_BYTES, toLogIndex, toRevision, toTerm } from '#base';
import { componentBytes, type DurablePoint, ReadDefinitions, verifyHistory } from '#database';
import type { KvStore } from '#kv';
import { BLOB_PART_BYTES, type DefinitionEntry } from '#model';
import { pulled, scanLogBatches } from '#query';
import { NO_CHECKPOINT } from '#storage';
import { writeNumberRow } from '../../../src/database/small-rows.ts';
import { CountingReader } from '../../support/counting-reader.ts';
import { DatabaseHost, durableAt, rebuild } from '../../support/database-host.ts';
import { transactionOf } from '../../support/database-requests.ts';
import { dump, valueOf } from '../../support/database-rows.ts';
import { blobOf, DEFINITIONS, partOf, stamped } from '../../support/definition-entries.ts';

const SMALL = blobOf('a', 30);
const LARGE = blobOf('c', BLOB_PART_BYTES + 5);
const [FIRST, SECOND] = DEFINITIONS;
if (FIRST === undefined || SECOND === undefined) throw new Error('there are two definitions');
const { kind: component, name } = SECOND;
const DELETE_LARGE: DefinitionEntry = { kind: 'delete', component, name, version: undefined, onlyInactive: false };

/** Entries 1 to 9: two transactions, then the components; each has its own batch. */
const ENTRIES: readonly DefinitionEntry[] = [
  partOf(SMALL, 0),
  { kind: 'define', blob: SMALL, definition: FIRST, isInactive: false },
  partOf(LARGE, 0),
  partOf(LARGE, 1),
  { kind: 'define', blob: LARGE, definition: SECOND, isInactive: false },
  // This entry is refused, so it has no record.
  partOf(LARGE, 0),
];
const LARGE_BYTES = new Uint8Array(LARGE.size).fill(0x63, 0, BLOB_PART_BYTES).fill(0x64, BLOB_PART_BYTES);

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

/** Before the first definition. */
function durableIn(host: DatabaseHost): DurablePoint {
  const { end } = host.reader().transactionHead(2);
  const place = { index: toLogIndex(2), term: toTerm(1), revision: toRevision(2) };
  return { ...NO_CHECKPOINT, ...place, history: { end, crc: 0 } };
}

async function put(kv: KvStore, key: Uint8Array, value: Uint8Array | undefined): Promise<void> {
  const batch = kv.batch();
  if (value === undefined) batch.del(key);
  else batch.put(key, value);
  await kv.write(batch);
}

it.each([1, 3, 5])('verifyHistory (D11) reports the missing row of definition %i', async (number) => {
  const host = await fullHost();
  const { keys } = host.reader();
  const key = keys.definition(number).slice();
  const whole = host.kv.get(key)?.slice();
  const other = host.reader().positionIn(keys.definition(number === 1 ? 2 : number - 1)) ?? 0;
  for (const value of [undefined, valueOf(key, (into) => writeNumberRow(into, other))]) {
    await put(host.kv, key, value);
    expect(await verifyHistory(host.source, durableIn(host))).toContain('the row of a definition is missing');
  }
  await put(host.kv, key, whole);
  expect(await verifyHistory(host.source, durableIn(host))).toBeUndefined();
});

it('verifyHistory (D11) reports another byte of a part, a hash, a revision or an entry', async () => {
  const host = await fullHost();
  const { end: last, control } = host.machine.applied;
  for (const number of [2, 4]) {
    const position = host.reader().positionIn(host.reader().keys.definition(number)) ?? 0;
    const { end } = host.reader().controlAt(position);
    const record = host.kv.history.read(host.source.group, { from: position, to: end });
    // Behind kind and length; and the last byte.
    for (const at of [5, 6, 8, 20, end - position - 1]) {
      const right = record[at] ?? 0;
      record[at] = right ^ 1;
      expect(await verifyHistory(host.source, durableIn(host)), `byte ${at}`).toBeTypeOf('string');
      record[at] = right;
    }
  }
  expect(control?.position).toBeLessThan(last);
  expect(await verifyHistory(host.source, durableIn(host))).toBeUndefined();
});

it('rebuildDerived (D11) reads no record behind the synced end, and fails at a broken one before it', async () => {
  const host = await fullHost();
  const durable = durableAt(host.machine.applied);
  const rows = await dump(host.kv);
  const [before, behind] = [durable.control?.position ?? 0, durable.end];
  host.define(stamped(DELETE_LARGE, 3000));
  await host.flush();
  const { end } = host.machine.applied;
  const bytes = host.kv.history.read(host.source.group, { from: 0, to: end });
  bytes[behind] = 77;
  await rebuild(host, durable);
  expect(await dump(host.kv)).toEqual(rows);
  const again = host.kv.history.read(host.source.group, { from: 0, to: durable.end });
  again[before] = 77;
  await expect(rebuild(host, durable)).rejects.toThrow('kind 77 is unknown here');
});

it.each([1, 4])(
  'ReadDefinitions (D24) throws for a missing row of definition %i, and continues when it exists',
  async (number) => {
    const host = await fullHost();
    const definitions = new ReadDefinitions(host.source);
    const key = host.reader().keys.definition(number).slice();
    const whole = host.kv.get(key)?.slice() ?? NO_BYTES;
    await put(host.kv, key, undefined);
    await expect(definitions.current()).rejects.toThrow('the position of a definition is missing');
    await put(host.kv, key, whole.with(1, (whole[1] ?? 0) ^ 1));
    await expect(definitions.current()).rejects.toThrow(/checksum/);
    await put(host.kv, key, whole);
    const found = await definitions.current();
    expect(found.list(toRevision(2)).map((each) => each.component)).toEqual([SMALL, LARGE]);
    expect(found.versions({ component, name }, toRevision(2))).toMatchObject([{ version: 1 }]);
  },
);

describe('the bytes of a component (D23)', () => {
  it('are returned as they arrived, also when no version names them any more', async () => {
    const host = await fullHost();
    const others = [LARGE.size - 1, LARGE.size + 1].map((size) => ({ ...LARGE, size }));
    for (const other of others) expect(await componentBytes(host.source, other)).toBeUndefined();
    expect(await componentBytes(host.source, LARGE)).toEqual(LARGE_BYTES);
    host.define(stamped(DELETE_LARGE, 3000));
    await host.flush();
    expect(await componentBytes(host.source, LARGE)).toEqual(LARGE_BYTES);
    expect(await componentBytes(host.source, SMALL)).toHaveLength(30);
    expect(await componentBytes(host.source, blobOf('e', 5))).toBeUndefined();
  });

  it('must be sent again once no version names them, and are then those that were sent last', async () => {
    const host = await fullHost();
    host.define(stamped(DELETE_LARGE, 3000));
    const define: DefinitionEntry = { kind: 'define', blob: LARGE, definition: SECOND, isInactive: false };
    expect(host.define(stamped(define, 3001))).toEqual({ kind: 'no-component', next: 0 });
    const before = host.machine.applied.definitions;
    for (const part of [0, 1]) host.define(stamped(partOf(LARGE, part), 3002));
    expect(host.define(stamped(define, 3003))).toEqual({ kind: 'defined', version: 2, isNew: true });
    await host.flush();
    const { keys } = host.reader();
    const positions = [keys.definition(before + 2).slice(), keys.componentPart(LARGE.digest, 1).slice()];
    const [record, part] = positions.map((key) => host.reader().positionIn(key));
    expect(part).toBe(record);
    expect(await componentBytes(host.source, LARGE)).toEqual(LARGE_BYTES);
  });
});

it.each(['forward', 'reverse'] as const)(
  'a scan %s passes over the parts of a component, unread',
  async (direction) => {
    const host = await fullHost();
    for (const n of [3, 4]) await transact(host, n);
    host.define(stamped(DELETE_LARGE, 3000));
    await host.flush();
    const kv = new CountingReader(host.kv);
    const found: number[] = [];
    const scan = { at: 4, direction, pace: pulled(2000) };
    for await (const slice of scanLogBatches({ ...host.source, kv }, scan)) {
      found.push(...slice.map(({ revision }) => revision));
    }
    expect(found).toEqual(direction === 'forward' ? [1, 2, 3, 4] : [4, 3, 2, 1]);
    expect(kv.bytes).toBeLessThan(50_000);
  },
);

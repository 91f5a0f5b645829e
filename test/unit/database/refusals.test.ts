// Goal: the last 1,000 refusals that clients can look up are kept across flushes, restarts and replicas, and decide
// nothing (D25, ADR 0142). Method: a machine that keeps fewer; rows compared and removed.
import { describe, expect, it } from 'vitest';
import { NO_BYTES, toLogIndex, toRevision, toTerm } from '#base';
import { DatabaseMachine, rebuildDerived, refusalOf, verifyRefusals } from '#database';
import { ALL, type Constraint, encodeTransactPayload, NO_OPTIONS, ORIGIN, stampPayload } from '#model';
import { encodeRefusal, readRefusal } from '../../../src/database/refusal-record.ts';
import { CREATED_AT_MS, DATABASE_ID, DatabaseHost, historyFor, takeOver } from '../../support/database-host.ts';
import { dump, sharedContent } from '../../support/database-rows.ts';
import { eventBytes } from '../../support/events.ts';

const NEVER: Constraint = { kind: 'min-revision', revision: 900 };
const STAMP_MS = CREATED_AT_MS + 7;

function idOf(number: number): Uint8Array {
  return new Uint8Array(16).fill(number);
}

function payload(id: number, constraints: readonly Constraint[], keepsRefusal = true): Uint8Array {
  const events = [eventBytes({ id: `e-${id}` })];
  const parts = { transactionId: idOf(id), origin: ORIGIN.HTTP_TRANSACTION, options: NO_OPTIONS };
  const bytes = encodeTransactPayload({ ...parts, constraints, events, keepsRefusal });
  stampPayload(bytes, STAMP_MS);
  return bytes;
}

function kept(host: DatabaseHost): readonly number[] {
  const numbers = Array.from({ length: 30 }, (_, number) => number);
  return numbers.filter((number) => refusalOf(host.reader(), idOf(number)) !== undefined);
}

async function refusalRows(host: DatabaseHost): Promise<readonly string[]> {
  return (await dump(host.kv)).filter((row) => /^01000000070c|^0100000007f2/.test(row));
}

it('a refused transaction is kept only if a client will look it up', async () => {
  const host = new DatabaseHost();
  await host.apply(payload(1, []));
  const unique: Constraint = { kind: 'revision-range', start: 0, end: 0, selector: ALL };
  const constraints: readonly Constraint[] = [unique, { kind: 'min-revision', revision: 0, selector: ALL }, NEVER];
  const outcome = await host.apply(payload(2, constraints));
  if (outcome.kind !== 'violated') throw new Error(outcome.kind);
  expect(outcome.violations).toMatchObject([
    { index: 0, kind: 'revision-range', found: 1, required: 'from 0 to 0' },
    { index: 2, kind: 'min-revision', found: 1, required: 'exactly 900' },
  ]);
  await host.apply(payload(3, [NEVER], false));
  await host.flush();
  expect(refusalOf(host.reader(), idOf(2))).toEqual({
    place: { index: 2, term: 1 },
    transactionId: idOf(2),
    recordedTimeMs: STAMP_MS,
    revision: 1,
    count: 2,
    cause: { kind: 'violated', violations: outcome.violations },
  });
  expect(kept(host)).toEqual([2]);
  expect(host.machine.applied.refusals).toEqual({ number: 1, index: 2 });
});

it('a refused transaction has the positions of the constraints that were too broad to decide', () => {
  const place = { index: toLogIndex(9), term: toTerm(2) };
  const given = { place, transactionId: idOf(4), recordedTimeMs: 5, revision: 6 };
  const cause = { kind: 'too-broad', constraints: [0, 3] } as const;
  const row = encodeRefusal({ ...given, cause, constraints: [] });
  expect(readRefusal(NO_BYTES, row)).toEqual({ ...given, cause, count: 2 });
  for (let at = 0; at < row.length * 8; at += 1) {
    const flipped = row.slice();
    flipped[at >> 3] = (flipped[at >> 3] ?? 0) ^ (1 << (at & 7));
    expect(() => readRefusal(NO_BYTES, flipped)).toThrow('corrupt');
  }
});

describe('the kept refusals (D25)', () => {
  it('are the latest ones; of an id that was refused again only the last one counts', async () => {
    const host = new DatabaseHost({ refusalsKept: 3 });
    for (const id of [1, 2, 3]) await host.apply(payload(id, [NEVER]));
    await host.flush();
    expect(kept(host)).toEqual([1, 2, 3]);
    for (const id of [1, 4]) await host.apply(payload(id, [NEVER]));
    await host.flush();
    // Numbers 3 to 5 are those of 3, 1 and 4: the first refusal of 1 was removed without the second.
    expect(kept(host)).toEqual([1, 3, 4]);
    expect(refusalOf(host.reader(), idOf(1))?.place.index).toBe(4);
    expect(await refusalRows(host)).toHaveLength(6);
    for (let id = 5; id < 25; id += 1) await host.apply(payload(id, [NEVER]));
    await host.flush();
    expect(kept(host)).toEqual([22, 23, 24]);
    expect(await refusalRows(host)).toHaveLength(6);
  });

  it('are the same for any times of flushes and restarts (D8)', async () => {
    const hosts = [1, 2, 5, 100].map((every) => ({ every, host: new DatabaseHost({ refusalsKept: 4 }) }));
    const different: number[] = [];
    for (const { every, host } of hosts) {
      for (let step = 1; step <= 40; step += 1) {
        await host.apply(payload((step * 7) % 11, step % 3 === 0 ? [] : [NEVER]));
        if (step % every === 0) host.beginFlush();
        if (step % (every + 1) === 0) await host.endFlush();
        if (step % 13 === 0) different.push(...(await host.reopen(false)));
      }
      await host.flush();
    }
    expect(different).toEqual([]);
    const [first, ...others] = await Promise.all(hosts.map(({ host }) => sharedContent(host.kv)));
    for (const other of others) expect(other).toEqual(first);
    expect(JSON.stringify(first)).toContain('refusal');
  });

  it('are part of a history that another replica imports, in parts of any size, also if they were removed by then (D16)', async () => {
    const one = new DatabaseHost({ refusalsKept: 5 });
    const other = new DatabaseHost({ refusalsKept: 5 });
    for (const host of [one, other]) for (const id of [1, 2]) await host.apply(payload(id, id === 1 ? [NEVER] : []));
    for (let id = 3; id < 12; id += 1) await one.apply(payload(id, id % 2 === 0 ? [] : [NEVER]));
    await one.flush();
    const mark = await sharedContent(one.kv);
    const history = historyFor(one, other);
    for (let id = 12; id < 20; id += 1) await one.apply(payload(id, [NEVER]));
    await one.flush();
    await takeOver(history, other, 1);
    await other.flush();
    expect(kept(other)).toEqual([1, 3, 5, 7, 9, 11].slice(1));
    expect(await sharedContent(other.kv)).toEqual(mark);
  });

  it('are found missing after a durable entry, and are restored from the log (D11)', async () => {
    const host = new DatabaseHost();
    const entries = [payload(1, []), payload(2, [NEVER]), payload(3, [NEVER]), payload(2, [NEVER]), payload(4, [])];
    for (const entry of entries) await host.apply(entry);
    await host.flush();
    const whole = await sharedContent(host.kv);
    for (const durable of [0, 1, 2, 3, 4, 5]) {
      expect(verifyRefusals(host.reader(), toLogIndex(durable)).kind).toBe('whole');
    }
    const batch = host.kv.batch();
    batch.del(host.reader().keys.refusal(2));
    await host.kv.write(batch);
    expect(verifyRefusals(host.reader(), toLogIndex(2))).toMatchObject({ kind: 'broken', revision: 2 });
    expect(verifyRefusals(host.reader(), toLogIndex(4)).kind).toBe('whole');
    const durable = { index: toLogIndex(2), term: toTerm(1), revision: toRevision(1) };
    await rebuildDerived(host.kv, host.source, durable);
    expect(kept(host)).toEqual([2]);
    expect(refusalOf(host.reader(), idOf(2))?.place.index).toBe(2);
    const machine = DatabaseMachine.open(host.source);
    expect(machine?.applied).toMatchObject({ index: 2, databaseId: DATABASE_ID, refusals: { number: 1, index: 2 } });
    if (machine === undefined) throw new Error('It is there');
    for (const [at, entry] of entries.entries()) {
      if (at >= 2) machine.apply({ index: toLogIndex(at + 1), term: toTerm(1), payload: entry });
    }
    const again = host.kv.batch();
    machine.flushInto(again);
    await host.kv.write(again);
    expect(await sharedContent(host.kv)).toEqual(whole);
  });
});

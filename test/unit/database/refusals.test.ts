// Goal: refusals that clients can look up are kept across flushes, restarts and replicas, and decide nothing (D25, ADR
// 0142). Method: few ids that are refused again and again; rows compared and removed.
import { describe, expect, it } from 'vitest';
import { NO_BYTES, toHex, toLogIndex, toRevision, toTerm } from '#base';
import { compareHistory, encodePoint, HistoryExport, refusalOf, verifyHistory } from '#database';
import { RECORD } from '#kv';
import { ALL, type Constraint, encodeTransactPayload, NO_OPTIONS, ORIGIN, stampPayload } from '#model';
import { encodeRefusal, readRefusal } from '../../../src/database/refusal-record.ts';
import { CREATED_AT_MS, DatabaseHost, durableAt, historyFor, rebuild, takeOver } from '../../support/database-host.ts';
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

async function kept(host: DatabaseHost): Promise<readonly number[]> {
  const numbers = Array.from({ length: 30 }, (_, number) => number);
  const found = await Promise.all(numbers.map((number) => refusalOf(host.reader(), idOf(number))));
  return numbers.filter((number) => found[number] !== undefined);
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
  expect(await refusalOf(host.reader(), idOf(2))).toEqual({
    place: { index: 2, term: 1 },
    transactionId: idOf(2),
    recordedTimeMs: STAMP_MS,
    revision: 1,
    count: 2,
    cause: { kind: 'violated', violations: outcome.violations },
  });
  expect(await kept(host)).toEqual([2]);
  expect(host.machine.applied).toMatchObject({ revision: 1, control: { position: host.reader().transaction(1).end } });
});

it('a refused transaction has the positions of the constraints that were too broad to decide', () => {
  const given = { transactionId: idOf(4), recordedTimeMs: 5 };
  const cause = { kind: 'too-broad', constraints: [0, 3] } as const;
  const bytes = encodeRefusal({ ...given, cause, constraints: [] });
  const place = { index: toLogIndex(9), term: toTerm(2) };
  const record = { kind: RECORD.REFUSAL, place, revision: toRevision(6), hash: idOf(0), position: 0, end: 9 };
  expect(readRefusal({ ...record, payload: bytes })).toEqual({ ...given, place, revision: 6, cause, count: 2 });
  for (let length = 0; length < bytes.length; length += 1) {
    expect(readRefusal({ ...record, payload: bytes.subarray(0, length) })).toBeUndefined();
  }
  expect(readRefusal({ ...record, payload: Uint8Array.of(...bytes, 0) })).toBeUndefined();
});

describe('the kept refusals (D25)', () => {
  it('are found by the id of the transaction; of one that was refused again only the last one', async () => {
    const host = new DatabaseHost();
    for (const id of [1, 2, 3]) await host.apply(payload(id, [NEVER]));
    await host.flush();
    for (const id of [1, 4, 1]) await host.apply(payload(id, [NEVER]));
    await host.flush();
    expect(await kept(host)).toEqual([1, 2, 3, 4]);
    const latest = await Promise.all([1, 2, 4].map((id) => refusalOf(host.reader(), idOf(id))));
    expect(latest.map((refusal) => refusal?.place.index)).toEqual([6, 2, 5]);
  });

  it('are the same for any times of flushes and restarts (D8)', async () => {
    const hosts = [1, 2, 5, 100].map((every) => ({ every, host: new DatabaseHost() }));
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
    for (const { host } of hosts) expect(await kept(host)).toHaveLength(8);
  });

  it('are part of a history that another replica imports, in parts of any size (D16)', async () => {
    const one = new DatabaseHost();
    const other = new DatabaseHost();
    for (const host of [one, other]) for (const id of [1, 2]) await host.apply(payload(id, id === 1 ? [NEVER] : []));
    for (let id = 3; id < 12; id += 1) await one.apply(payload(id, id % 2 === 0 ? [] : [NEVER]));
    await one.flush();
    const mark = await sharedContent(one.kv);
    const history = historyFor(one, other);
    for (let id = 12; id < 20; id += 1) await one.apply(payload(id, [NEVER]));
    await one.flush();
    await takeOver(history, other, 1);
    await other.flush();
    expect(await kept(other)).toEqual([1, 3, 5, 7, 9, 11]);
    expect(await sharedContent(other.kv)).toEqual(mark);
  });

  it('that another replica has in place of these are noticed, and further ones are not (D16)', async () => {
    const hosts = [[2], [3], [2, 4, 6, 7, 8, 9, 10, 11], []].map(async (refused) => {
      const host = new DatabaseHost();
      await host.apply(payload(1, []));
      for (const id of refused) await host.apply(payload(id, [NEVER]));
      await host.flush();
      return host;
    });
    const [one, other, further, behind] = await Promise.all(hosts);
    if (one === undefined || other === undefined || further === undefined || behind === undefined) throw new Error();
    const compared = (host: DatabaseHost): unknown => compareHistory(one.source, host.machine.applied);
    const position = one.reader().transaction(1).end;
    const hash = (host: DatabaseHost): string => toHex(host.machine.applied.control?.hash ?? NO_BYTES);
    const what = `the hash of the control record at ${position}`;
    expect(compared(other)).toEqual({ what, here: hash(one), there: hash(other) });
    expect([one, further, behind].map(compared)).toEqual(['same', 'beyond', 'same']);
    await one.apply(payload(5, []));
    await one.flush();
    expect(one.machine.applied.end).toBeLessThan(further.machine.applied.control?.position ?? 0);
    expect(compared(further)).toMatchObject({ here: expect.not.stringMatching(hash(further)), there: hash(further) });
    expect(HistoryExport.open(one.source, encodePoint(other.machine.applied))).toContain(what);
  });

  it('that differ before an equal one are noticed by its hash', async () => {
    const [one, other] = await Promise.all(
      [2, 3].map(async (first) => {
        const host = new DatabaseHost();
        for (const id of [first, 4]) await host.apply(payload(id, [NEVER]));
        await host.flush();
        return host;
      }),
    );
    if (one === undefined || other === undefined) throw new Error();
    const { control } = one.machine.applied;
    expect(other.machine.applied.control?.position).toBe(control?.position);
    const what = `the hash of the control record at ${control?.position}`;
    expect(compareHistory(one.source, other.machine.applied)).toMatchObject({ what });
  });

  it('are found missing after a durable entry, and are restored from the log (D11)', async () => {
    const host = new DatabaseHost();
    const entries = [payload(1, []), payload(2, [NEVER]), payload(3, [NEVER]), payload(2, [NEVER]), payload(4, [])];
    const durable = [durableAt(host.machine.applied)];
    for (const entry of entries) {
      await host.apply(entry);
      durable.push(durableAt(host.machine.applied));
    }
    await host.flush();
    const whole = await dump(host.kv);
    for (const point of durable) expect(await verifyHistory(host.source, point)).toBeUndefined();
    const batch = host.kv.batch();
    batch.del(host.reader().keys.refusal(idOf(3)));
    await host.kv.write(batch);
    const faults = await Promise.all(durable.map((point) => verifyHistory(host.source, point)));
    const missing = 'After revision 1 and entry 3: the row of a refusal is missing';
    expect(faults).toEqual([missing, missing, missing, undefined, undefined, undefined]);
    const [, , second] = durable;
    if (second === undefined) throw new Error('it has five entries');
    await rebuild(host, second);
    expect(await kept(host)).toEqual([2]);
    expect(await refusalOf(host.reader(), idOf(2))).toMatchObject({ place: { index: 2 } });
    expect(await host.reopen(false)).toEqual([]);
    await host.flush();
    expect(await dump(host.kv)).toEqual(whole);
  });
});

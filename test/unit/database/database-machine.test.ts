// Goal: single rules of deciding and storing a transaction hold (D2, D3, D4, D9). Method: examples;
// test/property/database-machine.test.ts tests the same rules at random.
import { expect, it } from 'vitest';
import { toHex, toLogIndex, toTerm } from '#base';
import { type TransactOutcome } from '#database';
import { type Constraint, type Selector, term } from '#model';
import { DatabaseHost, sha256 } from '../../support/database-host.ts';
import type { OracleEvent } from '../../support/database-oracle.ts';
import { transactionOf } from '../../support/database-requests.ts';

const ORDER: OracleEvent = { id: 'a', type: 'placed', source: '/streams/orders', stream: 'orders', subject: 's-1' };

function transact(host: DatabaseHost, events: readonly OracleEvent[] = [ORDER]): Promise<TransactOutcome> {
  return host.apply(transactionOf(events));
}

function unless(selector: Selector): Constraint {
  return { kind: 'max-revision', revision: 0, selector };
}

it('a transaction extends the chain hash by its stored body (D3)', async () => {
  const host = new DatabaseHost();
  const before = host.machine.applied.chainHash;
  await transact(host);
  await host.flush();
  const { bytes, view, chainHash } = host.reader().transaction(1);
  expect(toHex(chainHash)).toBe(toHex(sha256([before, bytes.subarray(view.body.start, view.body.end)])));
  expect(host.machine.applied.chainHash).toEqual(chainHash);
});

it('constraints with a prefix are answered before the entry is applied, which fails without the answers (D4)', async () => {
  const host = new DatabaseHost();
  await transact(host);
  await host.flush();
  const entry = {
    index: toLogIndex(2),
    term: toTerm(1),
    payload: transactionOf([ORDER], [unless(term('by-type-prefix', 'pl'))]),
  };
  const needs = host.machine.needs(entry.payload);
  expect(needs).toHaveLength(1);
  const answers = await host.machine.answer(needs);
  expect(answers).toEqual([1, 1]);
  expect(() => host.machine.transact(entry)).toThrow('Every need of a payload is answered');
  expect(host.machine.needs(transactionOf([ORDER], [unless(term('by-type', 'placed'))]))).toEqual([]);
});

it('an event id that is taken gets further suffixes until it is free (D2)', async () => {
  const host = new DatabaseHost();
  await transact(host, [ORDER, { ...ORDER, id: 'a~2.0' }, { ...ORDER, id: 'a~2.0~2.0' }]);
  expect(await transact(host)).toMatchObject({ storedIds: [{ index: 0, id: 'a~2.0~2.0~2.0' }] });
});

it.each([
  ['a later format', 0, 2],
  ['a kind of the catalog', 1, 16],
  ['an unknown kind', 1, 9],
])('the log stops at an entry of %s before any change (D9)', (_name, at, byte) => {
  const host = new DatabaseHost();
  const bytes = transactionOf([ORDER]);
  bytes[at] = byte;
  expect(() => host.machine.transact({ index: toLogIndex(1), term: toTerm(1), payload: bytes })).toThrow('log entry');
  expect(host.machine.applied).toMatchObject({ index: 0, revision: 0 });
});

it('the log is applied in order', async () => {
  const host = new DatabaseHost();
  await transact(host);
  expect(() => host.machine.advance(toLogIndex(1), toTerm(1))).toThrow('Entries are applied in log order');
});

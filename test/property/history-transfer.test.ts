// Goal: a replica that imports a history in parts stores the same rows as one that applied the log, and damaged parts
// change nothing (D8, D16). Method: two machines, random starts, flushes and restarts; rows are compared.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toLogIndex } from '#base';
import { encodePoint, HistoryExport, HistoryImport, type HistoryPart } from '#database';
import { DatabaseHost, historyFor } from '../support/database-host.ts';
import type { OracleRequest } from '../support/database-oracle.ts';
import { arbRequest, payloadOf, stampMs, transactionOf } from '../support/database-requests.ts';
import { sharedContent } from '../support/database-rows.ts';
import { runs } from '../support/runs.ts';

const TIMEOUT_MS = 60_000;
const requests = fc
  .array(arbRequest({ variety: 40, eventsMax: 12 }), { minLength: 10, maxLength: 60, size: 'max' })
  .map((list) => list.map((request, step): OracleRequest => ({ ...request, stampedMs: stampMs(step, 0) })));

function take(to: DatabaseHost, check: HistoryImport, part: HistoryPart, from: HistoryExport): void {
  const checked = check.take(part.data);
  if (typeof checked === 'string') throw new Error(checked);
  to.machine.install(checked, part.last, from.group);
}

async function hostWith(list: readonly OracleRequest[], flushes: readonly number[] = []): Promise<DatabaseHost> {
  const host = new DatabaseHost();
  for (const [place, request] of list.entries()) {
    await host.apply(payloadOf(request));
    if ((flushes[place] ?? 0) < 3) await host.flush();
  }
  await host.flush();
  return host;
}

describe('an imported history', () => {
  it(
    'results in the same content, from any revision, in parts of any size (D8, D16)',
    async () => {
      const dice = fc.array(fc.nat(9), { minLength: 60, maxLength: 60 });
      const sizes = fc.constantFrom(1, 500, 4000, 60_000);
      const property = fc.asyncProperty(requests, dice, fc.nat(59), sizes, async (list, rolls, cut, bytesMax) => {
        const one = await hostWith(list, rolls);
        const other = await hostWith(list.slice(0, cut % list.length));
        const history = historyFor(one, other);
        // Later writes are above the mark of the export.
        await one.apply(payloadOf(list.slice(0, 1)[0] as OracleRequest));
        await one.flush();
        const check = new HistoryImport(other.source, other.machine.applied);
        for (let part = await history.next(bytesMax), at = 0; ; part = await history.next(bytesMax), at += 1) {
          take(other, check, part, history);
          const { index, revision } = other.machine.applied;
          expect([index, other.machine.applied.logStart]).toEqual([part.last.index, part.last.index]);
          if ((rolls[at] ?? 0) > 4) await other.flush();
          if ((rolls[at] ?? 0) > 7) other.machine = (await reopened(other, revision)) ?? other.machine;
          if (part.isLast) break;
        }
        await other.flush();
        const mark = await hostWith(list, rolls);
        expect(await sharedContent(other.kv)).toEqual(await sharedContent(mark.kv));
      });
      await fc.assert(property, { numRuns: runs(40) });
    },
    TIMEOUT_MS,
  );

  it('is taken from where the log has come meanwhile', async () => {
    const list = fc.sample(requests, { numRuns: 1, seed: 11 })[0] ?? [];
    const one = await hostWith(list.slice(0, 9));
    const other = new DatabaseHost();
    const history = historyFor(one, other);
    const check = new HistoryImport(other.source, other.machine.applied);
    for (const request of list.slice(0, 5)) await other.apply(payloadOf(request));
    expect(other.machine.revision).toBeGreaterThan(0);
    take(other, check, await history.next(1e6), history);
    await other.flush();
    expect(await sharedContent(other.kv)).toEqual(await sharedContent(one.kv));
  });

  it('continues with the log after its end', async () => {
    const list = fc.sample(requests, { numRuns: 1, seed: 11 })[0] ?? [];
    const one = await hostWith(list.slice(0, 8));
    const other = new DatabaseHost();
    const history = historyFor(one, other);
    take(other, new HistoryImport(other.source, other.machine.applied), await history.next(1e6), history);
    for (const host of [one, other]) {
      for (const [place, request] of list.slice(8).entries()) {
        const index = toLogIndex(9 + place);
        const needs = host.machine.needs(payloadOf(request));
        if (needs.length > 0) await host.flush();
        const answers = await host.machine.answer(needs);
        host.machine.transact({ index, term: host.machine.applied.term, payload: payloadOf(request), answers });
      }
      await host.flush();
    }
    expect(await sharedContent(other.kv)).toEqual(await sharedContent(one.kv));
  });

  it('is refused with wrong bytes, chain hash or position, and then no part of it counts', async () => {
    const sample = fc.sample(requests, { numRuns: 1, seed: 5 })[0] ?? [];
    const list = sample.filter(({ constraints }) => constraints.length === 0);
    const one = await hostWith(list);
    const other = new DatabaseHost();
    const { data } = await historyFor(one, other).next(1e6);
    const check = new HistoryImport(other.source, other.machine.applied);
    const { position, view } = one.reader().transaction(3);
    const chainHash = Array.from({ length: 32 }, (_, at) => view.chainHashStart + at);
    const body = Array.from({ length: view.body.end - view.body.start }, (_, at) => view.body.start + at);
    for (const at of [...chainHash, ...body]) {
      const flipped = data.with(position + at, (data[position + at] ?? 0) ^ 1);
      expect(check.take(flipped), `a bit of byte ${at}`).toBeTypeOf('string');
    }
    const { revision } = one.machine;
    const starts = Array.from({ length: revision }, (_, at) => one.reader().start(at + 1));
    const borders = new Set([...starts, one.reader().end(revision)]);
    const step = 1 + Math.floor(data.length / 500);
    const cuts = Array.from({ length: Math.floor((data.length - 1) / step) }, (_, n) => 1 + n * step);
    for (const at of cuts.filter((cut) => !borders.has(cut))) {
      expect(check.take(data.subarray(0, at)), `cut at ${at}`).toBeTypeOf('string');
    }
    expect(check.point.revision).toBe(0);
    expect(check.take(data)).not.toBeTypeOf('string');
    expect(check.point.revision).toBe(revision);
    expect(check.take(data)).toMatch(/follows/);
  });

  it('is refused with an id of an event that it does not have, which no hash covers', async () => {
    const one = new DatabaseHost();
    const event = { id: 'same', type: 't', source: 'orders', stream: 'orders' };
    await one.apply(transactionOf([event, event]));
    await one.flush();
    const other = new DatabaseHost();
    const { data } = await historyFor(one, other).next(1e6);
    const { position, bytes, view } = one.reader().transaction(1);
    expect(view.storedIds).toMatchObject([{ index: 1 }]);
    const at = position + bytes.indexOf(0x1a, view.chainHashStart + 32) + 3;
    expect(data[at]).toBe(1);
    const check = new HistoryImport(other.source, other.machine.applied);
    expect(check.take(data.with(at, 2))).toMatch(/an id of event 2 and 2 events/);
    expect(check.take(data)).not.toBeTypeOf('string');
  });

  it('is refused with a transaction of 1001 events', async () => {
    const one = new DatabaseHost();
    const event = { type: 't', source: 'orders', stream: 'orders' };
    await one.apply(transactionOf(Array.from({ length: 1001 }, (_, at) => ({ ...event, id: String(at) }))));
    await one.flush();
    const other = new DatabaseHost();
    const { data } = await historyFor(one, other).next(1e6);
    const check = new HistoryImport(other.source, other.machine.applied);
    expect(check.take(data)).toMatch(/in revision 1, The transaction is too large: 1001 events, at most 1000/);
  });

  it('is refused with what no hash covers, but follows from the records before', async () => {
    const one = new DatabaseHost();
    const event = { id: 'same', type: 't', source: 'orders', stream: 'orders' };
    for (let n = 0; n < 2; n++) await one.apply(transactionOf([event, event]));
    await one.flush();
    const other = new DatabaseHost();
    const { data } = await historyFor(one, other).next(1e6);
    const { position, view } = one.reader().transaction(1);
    const id = data.indexOf(0x7e, position);
    expect([...data.subarray(id, id + 4)]).toEqual(Array.from('~1.1', (letter) => letter.charCodeAt(0)));
    const total = data.lastIndexOf(0x20, position + view.body.start - 2) + 1;
    const cases: readonly [at: number, from: number, to: number, fault: RegExp][] = [
      [total, 2, 3, /counts 3 events, and 2 would be right/],
      [id + 1, 0x31, 0x32, /event 1 has the id "same", and is stored as "same~2.1"/],
      [id - 1, 0x65, 0x66, /event 1 has the id "same", and is stored as "samf~1.1"/],
      [position - 1, 1, 2, /an entry of term 1 follows one of term 2/],
    ];
    for (const [at, from, to, fault] of cases) {
      expect([fault, data[at]]).toEqual([fault, from]);
      const check = new HistoryImport(other.source, other.machine.applied);
      expect(check.take(data.with(at, to))).toMatch(fault);
      expect(check.take(data)).not.toBeTypeOf('string');
    }
  });

  it.each([
    ['without an id', [0x12], /events\[0\] must be in canon/],
    ['with a length that leads back', [0x0a, 0xfa, 0xff, 0xff, 0xff, 0x0f], /events\[0\] must be in canon/],
    ['with a control character in its id', [0x0a, 0x0c, 0x00], /in revision 1, events\[0\].id must not contain/],
  ])('is refused with an event %s, although the chain hash is right', async (_, bytes, fault) => {
    const one = new DatabaseHost();
    await one.apply(transactionOf([{ id: 'long-ish-id!', type: 't', source: 'orders', stream: 'orders' }]));
    await one.flush();
    const other = new DatabaseHost();
    const { data } = await historyFor(one, other).next(1e6);
    const { position, view } = one.reader().transaction(1);
    data.set(bytes, position + (view.body.eventStarts[0] ?? 0));
    const body = data.subarray(position + view.body.start, position + view.body.end);
    data.set(other.source.sha256([other.machine.applied.chainHash, body]), position + view.chainHashStart);
    expect(new HistoryImport(other.source, other.machine.applied).take(data)).toMatch(fault);
  });

  it.each([
    ['without events', 1, 0x1a, /in revision 1, events must have at least one event/],
    ['with options that are no message', 2, 0x7f, /in revision 1, options must be a protobuf message/],
  ])('is refused with a transaction %s, although chain hash and total are right', async (_, count, tag, fault) => {
    const one = new DatabaseHost();
    const event = { type: 't', source: 'orders', stream: 'orders' };
    await one.apply(transactionOf(['one', 'two'].slice(0, count).map((id) => ({ id, ...event }))));
    await one.flush();
    const other = new DatabaseHost();
    const { data } = await historyFor(one, other).next(1e6);
    const { position, view } = one.reader().transaction(1);
    const start = position + (view.body.eventStarts[0] ?? 0);
    const length = (view.body.eventEnds[0] ?? 0) - (view.body.eventStarts[0] ?? 0);
    // The first event becomes options with one field, such as a commit message.
    data.set([0x22, length, tag, length - 2], start - 2);
    data.fill(0x61, start + 2, start + length);
    const total = data.lastIndexOf(0x20, position + view.body.start - 2) + 1;
    data[total] = count - 1;
    const body = data.subarray(position + view.body.start, position + view.body.end);
    data.set(other.source.sha256([other.machine.applied.chainHash, body]), position + view.chainHashStart);
    expect(new HistoryImport(other.source, other.machine.applied).take(data)).toMatch(fault);
  });

  it('is not exported to a replica with another history', async () => {
    const list = fc.sample(requests, { numRuns: 1, seed: 5 })[0] ?? [];
    const one = await hostWith(list);
    const chainHash = new Uint8Array(32).fill(1);
    expect(HistoryExport.open(one.source, encodePoint({ revision: 1, chainHash, control: undefined }))).toMatch(
      /the chain hash of revision 1 is 0101/,
    );
    expect(HistoryExport.open(one.source, new Uint8Array(3))).toMatch(/where it ends/);
    const { chainHash: empty } = new DatabaseHost().machine.applied;
    const nowhere = { position: Number.MAX_SAFE_INTEGER, hash: chainHash };
    expect(HistoryExport.open(one.source, encodePoint({ revision: 0, chainHash: empty, control: nowhere }))).toMatch(
      /control record at 9007199254740991 is 0101.*missing here/,
    );
    // A replica with more data only learns the end of the log.
    const ahead = HistoryExport.open(one.source, encodePoint({ revision: 1e6, chainHash, control: undefined }));
    if (typeof ahead === 'string') throw new Error(ahead);
    const { index, term } = one.machine.applied;
    expect(await ahead.next(10)).toEqual({ data: new Uint8Array(0), last: { index, term }, isLast: true });
  });
});

async function reopened(host: DatabaseHost, revision: number): Promise<DatabaseHost['machine'] | undefined> {
  if (host.storedRevision !== revision) return undefined;
  const { DatabaseMachine } = await import('#database');
  return DatabaseMachine.open(host.source);
}

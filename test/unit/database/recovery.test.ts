// Goal: a gap or fault in a history above the durable point is found; rows are made again without any row, and an
// interrupted rebuild is finished (D11). Method: each fault in turn; a store that fails at each step, and one that then
// loses any of the writes that were not synced.
import { describe, expect, it } from 'vitest';
import { DatabaseError, toLogIndex } from '#base';
import { DatabaseReader, verifyHistory } from '#database';
import type { KvStore } from '#kv';
import { writeNumberRow } from '../../../src/database/small-rows.ts';
import { LossyKv } from '../../support/cluster/lossy-kv.ts';
import { DatabaseHost, type DurableState, durableAt, noSync, rebuild, sourceOf } from '../../support/database-host.ts';
import { transactionOf } from '../../support/database-requests.ts';
import { dump, valueOf } from '../../support/database-rows.ts';
import { withMethods } from '../../support/with-methods.ts';

const DURABLE = 12;

async function fullHost({ kv, last = DURABLE }: { kv?: KvStore; last?: number } = {}): Promise<{
  host: DatabaseHost;
  durable: DurableState;
  durableRows: readonly string[];
}> {
  const host = new DatabaseHost({}, kv);
  let durable = durableAt(host.machine.applied);
  let durableRows: readonly string[] = [];
  for (let n = 1; n <= 30; n++) {
    await host.apply(transaction(n, 'e', 2));
    if (n % 3 === 0) await host.flush();
    if (n === last) {
      durable = durableAt(host.machine.applied);
      durableRows = await dump(host.kv);
    }
  }
  return { host, durable, durableRows };
}

function transaction(n: number, ids: string, count: number): Uint8Array {
  const event = { type: 't', source: 'orders', stream: 'orders', subject: `s-${n % 4}` };
  const events = Array.from({ length: count }, (_, index) => ({ id: `${ids}-${n}-${index}`, ...event }));
  return transactionOf(events);
}

async function change(
  kv: KvStore,
  key: Uint8Array,
  edit: (value: Uint8Array) => Uint8Array | undefined,
): Promise<void> {
  const value = edit((kv.get(key) ?? new Uint8Array(0)).slice());
  const batch = kv.batch();
  if (value === undefined) batch.del(key);
  else batch.put(key, value);
  await kv.write(batch);
}

describe('verifyHistory (D11)', () => {
  it.each([13, 19, 28, 30])('reports that the rows of revision %i are missing', async (revision) => {
    const { host, durable } = await fullHost();
    await change(host.kv, host.reader().keys.position(revision).slice(), () => undefined);
    expect(await verifyHistory(host.source, durable)).toContain(`the position of revision ${revision} is`);
  });

  it('reports a position that is not that of the record', async () => {
    const { host, durable } = await fullHost();
    const { keys } = host.reader();
    const key = keys.position(16).slice();
    const { position } = host.reader().transaction(17);
    await change(host.kv, key, () => valueOf(key, (into) => writeNumberRow(into, position)));
    expect(await verifyHistory(host.source, durable)).toContain('the position of revision 16 is');
  });

  it('reports a wrong byte of a tag, a chain hash or a body', async () => {
    const { host, durable } = await fullHost();
    const { position, end, view } = host.reader().transaction(16);
    const record = host.kv.history.read(host.source.group, { from: position, to: end });
    const hash = Array.from({ length: 32 }, (_, at) => view.chainHashStart + at);
    const id = Array.from({ length: 16 }, (_, at) => view.body.transactionIdStart + at);
    for (const at of [0, ...hash, ...id]) {
      const right = record[at] ?? 0;
      record[at] = right ^ 0x10;
      expect(await verifyHistory(host.source, durable)).toMatch(/After revision 15|no logged transaction/);
      record[at] = right;
    }
    expect(await verifyHistory(host.source, durable)).toBeUndefined();
  });

  it.each([0, 1, 100])('reports a history that ends %i bytes into a record', async (bytes) => {
    const { host, durable } = await fullHost();
    await host.kv.cutHistory(host.source.group, host.reader().start(20) + bytes);
    expect(await verifyHistory(host.source, durable)).toContain('cannot be read');
  });
});

describe('rebuildDerived (D11)', () => {
  function failingAt(kv: KvStore, fatal: number, sync = noSync): { kv: KvStore; syncStore: () => Promise<void> } {
    let writes = 0;
    const step = <Result>(work: () => Promise<Result>): Promise<Result> =>
      ++writes < fatal ? work() : Promise.reject(new DatabaseError('internal', 'The process has ended'));
    const failing = withMethods(kv, {
      write: (batch) => step(() => kv.write(batch)),
      clear: (gte, lt) => step(() => kv.clear(gte, lt)),
      cutHistory: (group, position) => step(() => kv.cutHistory(group, position)),
    });
    return { kv: failing, syncStore: () => step(sync) };
  }

  it.each([2, 3, 4, 5, 6, 7])(
    'is noticed by the applied row or the end when it is interrupted at step %i, and is finished later',
    async (fatal) => {
      const { host, durable, durableRows } = await fullHost();
      const { kv, syncStore } = failingAt(host.kv, fatal);
      const interrupted = rebuild({ kv, source: sourceOf(kv) }, durable, { syncStore });
      await expect(interrupted).rejects.toThrow('has ended');
      const { end = 0 } = host.reader().applied() ?? {};
      expect(end === 0 || (await host.kv.cutHistory(host.source.group, end)) < end).toBe(true);
      expect(end === 0).toBe(fatal > 2);
      await rebuild(host, durable);
      expect(await dump(host.kv)).toEqual(durableRows);
      expect(await verifyHistory(host.source, durable)).toBeUndefined();
    },
  );

  it.each([DURABLE, 30])('of revision %i is whole where its applied row survives a power failure', async (last) => {
    const stored = new LossyKv();
    const { durable, durableRows } = await fullHost({ kv: stored, last });
    await stored.checkpointFiles();
    let [whole, unsynced] = [0, -1];
    for (const fatal of [2, 3, 4, 5, 6, 7, 8, 9]) {
      const kv = await stored.crash(() => true);
      const { kv: failing, syncStore } = failingAt(kv, fatal, () => kv.checkpointFiles());
      const outcome = await rebuild({ kv: failing, source: sourceOf(failing) }, durable, { syncStore }).then(
        () => 'rebuilt',
        ({ message }: Error) => message,
      );
      expect(outcome).toBe(fatal === 9 ? 'rebuilt' : 'The process has ended');
      unsynced = kv.unsyncedCount;
      for (let kept = 0; kept < 2 ** unsynced; kept++) {
        const after = await kv.crash((number) => (kept & (2 ** number)) > 0);
        const { end } = new DatabaseReader(sourceOf(after)).applied() ?? {};
        // A later end than that of the history is noticed.
        if (end !== durable.history.end) continue;
        expect(await dump(after)).toEqual(durableRows);
        whole += 1;
      }
    }
    expect(whole).toBeGreaterThan(0);
    expect(unsynced).toBe(0);
  });

  /** A history of more than one slice, and a store whose first write of rows ends when the test releases it. */
  async function slowlyWritten(onWritten: () => void = () => undefined): Promise<{
    host: DatabaseHost;
    durable: DurableState;
    kv: KvStore;
    /** Resolves when the first write of rows begins. */
    begun: Promise<void>;
    /** Resolves with the first read of the history after that. */
    more: Promise<void>;
    release: () => void;
  }> {
    const host = new DatabaseHost();
    for (let n = 1; n <= 100; n++) await host.apply(transaction(n, 'e', 100));
    await host.flush();
    const begun = Promise.withResolvers<void>();
    const more = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    let hasBegun = false;
    const history = withMethods(host.kv.history, {
      readAll: (...read) => {
        if (hasBegun) more.resolve();
        return host.kv.history.readAll(...read);
      },
    });
    const write: KvStore['write'] = async (batch) => {
      hasBegun = true;
      begun.resolve();
      await released.promise;
      await host.kv.write(batch);
      onWritten();
    };
    const kv = new Proxy(withMethods(host.kv, { write }), {
      get: (target, name): unknown => (name === 'history' ? history : Reflect.get(target, name)),
    });
    const { resolve: release } = released;
    return { host, durable: durableAt(host.machine.applied), kv, begun: begun.promise, more: more.promise, release };
  }

  it('indexes a slice while the one before it is written', async () => {
    const { host, durable, kv, begun, more, release } = await slowlyWritten();
    await rebuild(host, durable);
    const rows = await dump(host.kv);
    const rebuilt = rebuild({ kv, source: sourceOf(kv) }, durable);
    await begun;
    await more;
    release();
    await rebuilt;
    expect(await dump(host.kv)).toEqual(rows);
  });

  it('writes nothing any more when it has stopped', async () => {
    const ends: string[] = [];
    const { durable, kv, begun, release } = await slowlyWritten(() => ends.push('written'));
    const stopped = rebuild({ kv, source: sourceOf(kv) }, durable, { mayContinue: () => false });
    const noted = stopped.then(() => ends.push('stopped'));
    await begun;
    // It would end within these ticks if it did not wait for the write.
    for (let tick = 0; tick < 100; tick++) await Promise.resolve();
    release();
    await noted;
    expect(ends).toEqual(['written', 'stopped']);
  });

  it('needs no row: the catalog and the log have all that the history has not (C9)', async () => {
    const { host, durable, durableRows } = await fullHost();
    const { gte, lt } = host.reader().keys.all();
    await host.kv.clear(gte, lt);
    await rebuild(host, durable);
    expect(await dump(host.kv)).toEqual(durableRows);
    const logStart = toLogIndex(DURABLE - 1);
    const group = { index: toLogIndex(DURABLE), membership: Uint8Array.of(5) };
    await host.kv.clear(gte, lt);
    await rebuild(host, { ...durable, logStart, group });
    expect(host.reader().applied()).toEqual({ ...host.reader().applied(), index: durable.index, logStart, group });
  });

  it('begins a database of which nothing is durable with what the catalog says', async () => {
    const { host } = await fullHost();
    const empty = durableAt(new DatabaseHost().machine.applied);
    await rebuild(host, empty);
    expect(durableAt(host.reader().applied() ?? empty)).toEqual(empty);
    expect(host.kv.historyEnd(host.source.group).end).toBe(0);
  });

  it('fails at a durable record that is broken or missing', async () => {
    const { host, durable } = await fullHost();
    const { position, end } = host.reader().transactionHead(7);
    const record = host.kv.history.read(host.source.group, { from: position, to: end });
    const at = end - position - 1;
    record[at] = (record[at] ?? 0) ^ 1;
    await expect(rebuild(host, durable)).rejects.toMatchObject({
      message: expect.stringContaining('does not follow from its body'),
      details: { unreadable: 7 },
    });
    await host.kv.cutHistory(host.source.group, position);
    await expect(rebuild(host, durable)).rejects.toMatchObject({
      message: expect.stringContaining('cannot be read'),
      details: { unreadable: 7 },
    });
  });
});

// Goal: what is stored follows from the log alone (D8), and can be made anew from the pages (D11).
// Method: two machines with one log and different flushes and restarts; and rows rebuilt from pages at a random point,
// compared byte by byte with the rows that stood there.

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rebuildDerived, verifyHistory } from '#database';
import { openLevelStore } from '#storage';
import { expectRowsToMatch } from '../support/database-checks.ts';
import { CREATED_AT_MS, DatabaseHost } from '../support/database-host.ts';
import { DatabaseOracle, type OracleRequest } from '../support/database-oracle.ts';
import { arbRequest, payloadOf, type RequestShape, stampMs } from '../support/database-requests.ts';
import { dump, sharedContent } from '../support/database-rows.ts';
import { runs } from '../support/runs.ts';
import { tempDir } from '../support/temp-dir.ts';

function arbRequests(shape: RequestShape, maxLength: number): fc.Arbitrary<readonly OracleRequest[]> {
  return fc
    .array(arbRequest(shape), { minLength: 1, maxLength, size: 'max' })
    .map((list) => list.map((request, step) => ({ ...request, stampedMs: stampMs(step, 0) })));
}

/** Room for a machine that is busy with other tests. */
const TIMEOUT_MS = 60_000;

describe('two replicas with one log', () => {
  it(
    'store the same content whatever their flushes and restarts (D8)',
    async () => {
      const requests = arbRequests({ variety: 50, eventsMax: 12 }, 60);
      const property = fc.asyncProperty(
        requests,
        fc.array(fc.nat(9), { minLength: 60, maxLength: 60 }),
        async (list, dice) => {
          const one = new DatabaseHost();
          const other = new DatabaseHost();
          for (const [place, request] of list.entries()) {
            const payload = payloadOf(request);
            await one.apply(payload);
            await other.apply(payload);
            const die = dice[place] ?? 0;
            if (die < 3) await one.flush();
            if (die === 3) one.beginFlush();
            if (die > 6) await other.flush();
            if (die === 8) await other.reopen(place % 2 === 0);
          }
          await one.flush();
          await other.flush();
          expect(other.machine.applied).toEqual(one.machine.applied);
          expect(await sharedContent(other.kv)).toEqual(await sharedContent(one.kv));
        },
      );
      await expect(fc.assert(property, { numRuns: runs(25) })).resolves.toBeUndefined();
    },
    TIMEOUT_MS,
  );
});

describe('the store on disk', () => {
  it('holds the rows that the one in memory holds, byte by byte, also after it was opened again', async () => {
    using directory = tempDir();
    const requests = arbRequests({ variety: 40, eventsMax: 10 }, 60);
    const list = fc
      .sample(requests, { numRuns: 20, seed: 7 })
      .reduce((left, right) => (left.length < right.length ? right : left));
    const inMemory = new DatabaseHost();
    const onDisk = new DatabaseHost({}, await openLevelStore(directory.path));
    for (const [place, request] of list.entries()) {
      for (const host of [inMemory, onDisk]) {
        await host.apply(payloadOf(request));
        if (place % 3 === 0) await host.flush();
        if (place % 10 === 0) await host.reopen(place % 20 === 0);
      }
    }
    await inMemory.flush();
    await onDisk.flush();
    const expected = await dump(inMemory.kv);
    expect(expected.length).toBeGreaterThan(300);
    expect(await dump(onDisk.kv)).toEqual(expected);
    await onDisk.kv.close();
    const again = await openLevelStore(directory.path);
    expect(await dump(again)).toEqual(expected);
    await again.close();
  });
});

describe('rebuildDerived', () => {
  it(
    'gives back the rows of the durable point, byte by byte, and the log goes on from there (D11)',
    async () => {
      const requests = arbRequests({ variety: 40, eventsMax: 20 }, 40);
      const property = fc.asyncProperty(requests, fc.nat(39), async (list, cut) => {
        const host = new DatabaseHost();
        const oracle = new DatabaseOracle(CREATED_AT_MS);
        const durableAt = Math.min(cut, list.length - 1);
        let durableRows: readonly string[] = [];
        let durable = host.machine.applied;
        for (const [place, request] of list.entries()) {
          await host.apply(payloadOf(request));
          oracle.apply(request);
          if (place % 3 === 0 || place === durableAt) await host.flush();
          if (place === durableAt) {
            durable = host.machine.applied;
            durableRows = await dump(host.kv);
          }
        }
        await host.flush();
        expect(await verifyHistory(host.reader(), durable.revision)).toEqual({ kind: 'whole' });
        await rebuildDerived(host.kv, host.source, durable);
        expect(await dump(host.kv)).toEqual(durableRows);
        expect(await host.reopen(true)).toEqual([]);
        await host.flush();
        await expectRowsToMatch(host.reader(), oracle, oracle.revision);
      });
      await expect(fc.assert(property, { numRuns: runs(25) })).resolves.toBeUndefined();
    },
    TIMEOUT_MS,
  );
});

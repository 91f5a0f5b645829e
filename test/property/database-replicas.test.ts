// Goal: derived rows can be rebuilt from the pages (D11). Method: rows rebuilt at a random point, compared byte by byte
// with the rows that were stored there.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { rebuildDerived, verifyHistory } from '#database';
import { expectRowsToMatch } from '../support/database-checks.ts';
import { CREATED_AT_MS, DatabaseHost } from '../support/database-host.ts';
import { DatabaseOracle, type OracleRequest } from '../support/database-oracle.ts';
import { arbRequest, payloadOf, type RequestShape, stampMs } from '../support/database-requests.ts';
import { dump } from '../support/database-rows.ts';
import { runs } from '../support/runs.ts';

function arbRequests(shape: RequestShape, maxLength: number): fc.Arbitrary<readonly OracleRequest[]> {
  return fc
    .array(arbRequest(shape), { minLength: 1, maxLength, size: 'max' })
    .map((list) => list.map((request, step) => ({ ...request, stampedMs: stampMs(step, 0) })));
}

/** Long, because the machine may be busy with other tests. */
const TIMEOUT_MS = 60_000;

it(
  'rebuildDerived restores the rows of the durable point, byte by byte, and the log continues from there (D11)',
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

// Goal: history, segments and rows follow from the log alone (D8), and derived rows can be rebuilt from the history
// (D11). Method: replicas that flush at other moments, and rows rebuilt at a random point, compared byte by byte.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { toHex } from '#base';
import { databaseAt, verifyHistory } from '#database';
import type { KvStore } from '#kv';
import { NO_CHECKPOINT } from '#storage';
import { readRecords } from '../../src/database/record.ts';
import { expectRowsToMatch } from '../support/database-checks.ts';
import { CREATED_AT_MS, DatabaseHost, durableAt, rebuild } from '../support/database-host.ts';
import { DatabaseOracle, type OracleRequest } from '../support/database-oracle.ts';
import { arbRequest, payloadOf, type RequestShape, stampMs } from '../support/database-requests.ts';
import { dump, historyOf } from '../support/database-rows.ts';
import { memoryKv } from '../support/memory-kv.ts';
import { runs } from '../support/runs.ts';
import { withMethods } from '../support/with-methods.ts';

function arbRequests(shape: RequestShape, maxLength: number): fc.Arbitrary<readonly OracleRequest[]> {
  return fc
    .array(arbRequest(shape), { minLength: 1, maxLength, size: 'max' })
    .map((list) => list.map((request, step) => ({ ...request, stampedMs: stampMs(step, 0) })));
}

/** Long, because the machine may be busy with other tests. */
const TIMEOUT_MS = 60_000;

/** A store that notes where the segments of the history begin. */
function notingSegments(segments: string[]): KvStore {
  const kv = memoryKv();
  return withMethods(kv, {
    batch: () => {
      const batch = kv.batch();
      const append = batch.append.bind(batch);
      batch.append = (group, records) => {
        for (const { position, revision, chainHash } of records.segments)
          segments.push(`${position} ${revision} ${toHex(chainHash)}`);
        append(group, records);
      };
      return batch;
    },
  });
}

it(
  'replicas that flush at different moments have the same history, segments and rows (D8)',
  async () => {
    const requests = arbRequests({ variety: 10, eventsMax: 9 }, 60);
    const flushes = fc.array(fc.boolean(), { minLength: 60, maxLength: 60 });
    const bytes = fc.constantFrom(1, 700, 3000, 1e9);
    const property = fc.asyncProperty(requests, flushes, flushes, bytes, async (list, here, there, segmentBytes) => {
      const found: unknown[] = [];
      for (const flushed of [here, there]) {
        const [segments, different]: [string[], number[]] = [[], []];
        const host = new DatabaseHost({ segmentBytes }, notingSegments(segments));
        for (const [place, request] of list.entries()) {
          await host.apply(payloadOf(request));
          if (flushed[place] === true) await host.flush();
          if (flushed[place] === true && place % 5 === 0) different.push(...(await host.reopen(place % 2 === 0)));
        }
        await host.flush();
        const { end, segmentStart } = host.machine.applied;
        const count = readRecords(historyOf(host.kv), 0)?.length ?? 0;
        for (const segment of segments) {
          const [, first] = segment.split(' ').map(Number);
          const before = await databaseAt(host.reader(), host.machine.applied, (first ?? 0) - 1);
          expect(segment.split(' ')[2]).toBe(toHex(before.chainHash));
        }
        // A segment ends with the record that reaches its size.
        const counts = new Map([
          [1, count],
          [1e9, Math.min(1, count)],
        ]);
        expect(segments).toHaveLength(counts.get(segmentBytes) ?? segments.length);
        expect(different).toEqual([]);
        expect(segments.at(-1)?.split(' ')[0] ?? '0').toBe(String(segmentStart));
        expect(await verifyHistory(host.source, NO_CHECKPOINT)).toBeUndefined();
        found.push({ segments, end, rows: await dump(host.kv) });
      }
      expect(found[1]).toEqual(found[0]);
    });
    await expect(fc.assert(property, { numRuns: runs(25) })).resolves.toBeUndefined();
  },
  TIMEOUT_MS,
);

it(
  'rebuildDerived restores the rows of the durable point, byte by byte, and the log continues from there (D11)',
  async () => {
    const requests = arbRequests({ variety: 40, eventsMax: 20 }, 40);
    const property = fc.asyncProperty(requests, fc.nat(39), async (list, cut) => {
      const host = new DatabaseHost();
      const oracle = new DatabaseOracle(CREATED_AT_MS);
      const last = Math.min(cut, list.length - 1);
      let durableRows: readonly string[] = [];
      let durable = durableAt(host.machine.applied);
      for (const [place, request] of list.entries()) {
        await host.apply(payloadOf(request));
        oracle.apply(request);
        if (place % 3 === 0 || place === last) await host.flush();
        if (place === last) {
          durable = durableAt(host.machine.applied);
          durableRows = await dump(host.kv);
        }
      }
      await host.flush();
      expect(await verifyHistory(host.source, durable)).toBeUndefined();
      await rebuild(host, durable);
      expect(await dump(host.kv)).toEqual(durableRows);
      expect(await host.reopen(true)).toEqual([]);
      await host.flush();
      await expectRowsToMatch(host.reader(), oracle, oracle.revision);
    });
    await expect(fc.assert(property, { numRuns: runs(25) })).resolves.toBeUndefined();
  },
  TIMEOUT_MS,
);

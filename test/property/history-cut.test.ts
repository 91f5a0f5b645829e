// Goal: a history that arrives in pieces of any size is cut into whole records, and ends before the first record behind
// a revision or a time, control records included (X5). Method: histories with definitions and refusals; all revisions
// and times; the records as they are read from the whole history.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { type CutPoint, HistoryCut } from '#database';
import { decodeDefinitionEntry } from '#model';
import { isControl, readRecords, type StoredRecord } from '../../src/database/record.ts';
import { readRefusal } from '../../src/database/refusal-record.ts';
import { DatabaseHost } from '../support/database-host.ts';
import { arbRequest, payloadOf, stampMs } from '../support/database-requests.ts';
import { historyOf } from '../support/database-rows.ts';
import { blobOf, partOf, stamped } from '../support/definition-entries.ts';
import { runs } from '../support/runs.ts';

function timeOf(record: StoredRecord): number {
  if (!isControl(record)) return record.recordedTimeMs;
  return decodeDefinitionEntry(record.payload)?.recordedTimeMs ?? readRefusal(record)?.recordedTimeMs ?? Number.NaN;
}

/** Cuts the history, which arrives in pieces. */
function cutOf(history: Uint8Array, point: CutPoint, pieces: readonly number[]): Uint8Array {
  const cut = new HistoryCut(point);
  const parts: Uint8Array[] = [];
  for (let at = 0, index = 0; at < history.length; index++) {
    const length = pieces[index % pieces.length] ?? 1;
    const taken = cut.take(history.subarray(at, at + length));
    if (taken !== undefined) {
      const records = readRecords(taken.data, 0);
      const last = typeof records === 'object' ? records.at(-1)?.place : undefined;
      if (last?.index !== taken.last.index) throw new Error(`entry ${taken.last.index} is not the last one`);
      parts.push(taken.data.slice());
    }
    at += length;
  }
  expect(cut.isCut).toBe(false);
  return Buffer.concat(parts);
}

it('cuts a history into whole records, up to the point', async () => {
  const requests = fc.array(arbRequest({ variety: 10, eventsMax: 4 }), { minLength: 5, maxLength: 12, size: 'max' });
  const sizes = fc.array(fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 500, max: 5_000 })), {
    minLength: 3,
    maxLength: 10,
  });
  const property = fc.asyncProperty(requests, sizes, async (list, pieces) => {
    const host = new DatabaseHost();
    for (const [place, request] of list.entries()) {
      if (place % 3 === 0) host.define(stamped(partOf(blobOf((place % 16).toString(16), 300), 0), stampMs(place, 0)));
      await host.apply(payloadOf({ ...request, stampedMs: stampMs(place, 0) }));
    }
    await host.flush();
    const history = historyOf(host.kv);
    const records = readRecords(history, 0);
    if (typeof records !== 'object') throw new Error(records ?? 'there is no record');
    const points = records.flatMap((record): CutPoint[] => [
      { revision: record.revision },
      { timeMs: timeOf(record) },
      { timeMs: timeOf(record) - 1 },
    ]);
    for (const point of [{}, { revision: 0 }, ...points]) {
      const { revision = Number.POSITIVE_INFINITY, timeMs = Number.POSITIVE_INFINITY } = point;
      const behind = records.findIndex((record) => record.revision > revision || timeOf(record) > timeMs);
      const end = behind === -1 ? history.length : (records[behind - 1]?.end ?? 0);
      expect(Buffer.compare(cutOf(history, point, pieces), history.subarray(0, end))).toBe(0);
    }
  });
  await fc.assert(property, { numRuns: runs(20) });
});

it('says that the last record is cut', async () => {
  const host = new DatabaseHost();
  host.define(stamped(partOf(blobOf('a', 300), 0), stampMs(0, 0)));
  await host.flush();
  const history = historyOf(host.kv);
  const cut = new HistoryCut({});
  expect(cut.take(history.subarray(0, -1))).toBe(undefined);
  expect(cut.isCut).toBe(true);
  cut.take(history.subarray(-1));
  expect(cut.isCut).toBe(false);
});

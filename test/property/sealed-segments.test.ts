// Goal: sealed segments of all replicas are equal, byte by byte, also of one that imported the history and of one whose
// rows were made again; and each can be verified alone, with its chain (D8). Method: machines with small segments on
// simulated disks, other flushes and checkpoints, an import in parts, definitions between transactions.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { databaseAt } from '#database';
import { HistoryChain } from '../../src/database/chain.ts';
import { readRecords } from '../../src/database/record.ts';
import { BLOCK_BYTES, readHeader } from '../../src/storage/segments/segment-format.ts';
import { LossyKv } from '../support/cluster/lossy-kv.ts';
import { DatabaseHost, durableAt, historyFor, rebuild, takeOver } from '../support/database-host.ts';
import type { OracleRequest } from '../support/database-oracle.ts';
import { arbRequest, payloadOf, stampMs } from '../support/database-requests.ts';
import { historyOf } from '../support/database-rows.ts';
import { blobOf, partOf, stamped } from '../support/definition-entries.ts';
import type { MemorySegmentDisk } from '../support/memory-segment-disk.ts';
import { runs } from '../support/runs.ts';
import { verified } from '../support/segment-histories.ts';

const TIMEOUT_MS = 60_000;

interface Replica {
  readonly host: DatabaseHost;
  readonly kv: LossyKv;
}

function replica(segmentBytes: number): Replica {
  const kv = new LossyKv();
  return { kv, host: new DatabaseHost({ segmentBytes }, kv) };
}

/** A part of a component; it is a control record unless an earlier one had it. */
function definitionAt(place: number): Uint8Array {
  return stamped(partOf(blobOf((place % 16).toString(16), 300), 0), stampMs(place, 0));
}

/** Applies the requests from the place on, and a definition before each second one. */
async function apply(
  { host, kv }: Replica,
  list: readonly OracleRequest[],
  { rolls, from = 0 }: { readonly rolls: readonly number[]; readonly from?: number },
): Promise<void> {
  for (const [place, request] of list.entries()) {
    if (place < from) continue;
    if (place % 2 === 0) host.define(definitionAt(place));
    await host.apply(payloadOf(request));
    if ((rolls[place] ?? 0) < 4) await host.flush();
    if ((rolls[place] ?? 0) < 2) await kv.checkpointFiles();
  }
  await host.flush();
}

/** Files of all segments but the last. */
function sealedFiles(disk: MemorySegmentDisk): readonly (readonly [string, Uint8Array])[] {
  return disk.files.slice(0, -1).map((path) => [path, disk.file(path)]);
}

/** Verifies a segment, of which only its begin is known. */
async function verify({ host, kv }: Replica, path: string): Promise<void> {
  const start = readHeader(kv.disk.file(path).subarray(0, BLOCK_BYTES));
  if (typeof start === 'string') throw new Error(start);
  const next = verified(kv.disk, path, { base: start.position });
  if (typeof next === 'string') throw new Error(next);
  const { chainHash, totalEvents: total, revision } = start;
  const before = { index: 0, term: 0, revision: revision - 1, chainHash, totalEvents: total, control: undefined };
  const chain = new HistoryChain(host.source.sha256, before, false);
  const records = readRecords(historyOf(kv).subarray(start.position, next.position), start.position);
  if (typeof records !== 'object') throw new Error(records ?? 'there is no record');
  expect(records.map((record) => chain.take(record)).filter((fault) => fault !== undefined)).toEqual([]);
  expect(records.at(-1)?.end).toBe(next.position);
  expect(chain).toMatchObject({ revision: next.revision - 1, chainHash: next.chainHash });
  const { totalEvents, recordedTimeMs } = await databaseAt(host.reader(), host.machine.applied, next.revision - 1);
  expect(next).toMatchObject({ totalEvents, recordedTimeMs: next.revision === 1 ? 0 : recordedTimeMs });
}

it(
  'sealed segments are equal on all replicas, and each can be verified alone (D8)',
  async () => {
    const requests = fc
      .array(arbRequest({ variety: 40, eventsMax: 12 }), { minLength: 10, maxLength: 60, size: 'max' })
      .map((list) => list.map((request, step): OracleRequest => ({ ...request, stampedMs: stampMs(step, 0) })));
    const rolls = fc.array(fc.nat(9), { minLength: 60, maxLength: 60 });
    const sizes = fc.tuple(fc.constantFrom(1, 700, 3_000), fc.constantFrom(1, 500, 60_000), fc.nat(59));
    const property = fc.asyncProperty(requests, rolls, rolls, sizes, async (list, here, there, sizesAt) => {
      const [segmentBytes, bytesMax, cut] = sizesAt;
      const [one, other] = [replica(segmentBytes), replica(segmentBytes)];
      const [beginning, middle] = [list.slice(0, cut % list.length), list.slice(0, (3 * cut) % list.length)];
      await apply(one, middle, { rolls: here });
      const durable = durableAt(one.host.machine.applied);
      await apply(one, list, { rolls: here, from: middle.length });
      await apply(other, beginning, { rolls: there });
      await takeOver(historyFor(one.host, other.host), other.host, bytesMax, async (index) => {
        if ((there[index % 60] ?? 0) < 6) await other.host.flush();
        if ((there[index % 60] ?? 0) < 3) await other.kv.checkpointFiles();
      });
      await other.host.flush();
      for (const { kv } of [one, other]) await kv.checkpointFiles();
      const sealed = sealedFiles(one.kv.disk).map(([path, bytes]) => [path, bytes.slice()] as const);
      expect(sealedFiles(other.kv.disk)).toEqual(sealed);
      for (const [path] of sealed) await verify(one, path);
      const records = readRecords(historyOf(one.kv), 0) ?? [];
      expect(one.kv.disk.files.length).toBeGreaterThanOrEqual(segmentBytes === 1 ? records.length : 1);
      await rebuild(one.host, durable, { segmentBytes });
      expect(await one.host.reopen(false)).toEqual([]);
      await one.host.flush();
      await one.kv.checkpointFiles();
      expect(sealedFiles(one.kv.disk)).toEqual(sealed);
    });
    await fc.assert(property, { numRuns: runs(25) });
  },
  TIMEOUT_MS,
);

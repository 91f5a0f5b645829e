// Goal: what one round does, case by case: nothing for an idle database, a wait where this node has less, a refusal
// where it has another history (X4), tails that grow by halves, few segments at a time. Method: one archiver, and a
// store in memory that counts calls.
import { beforeEach, describe, expect, it } from 'vitest';
import { ArchiveFault, Archiver, type ArchiveSource } from '#archive';
import { tailsToKeep } from '../../../src/archive/archiver.ts';
import { ArchivedHistory, ArchivingNode, newHash } from '../../support/archive/archived-history.ts';
import { manifestsIn, recordsOf } from '../../support/archive/restored.ts';
import { SimulatedStore, StoreFailure } from '../../support/archive/simulated-store.ts';

let store: SimulatedStore;
let history: ArchivedHistory;
let node: ArchivingNode;
let nowMs: number;
let calls: string[];

beforeEach(() => {
  store = new SimulatedStore();
  history = new ArchivedHistory(1_000);
  node = new ArchivingNode(history);
  nowMs = 0;
  calls = [];
  const delay = async (call: string): Promise<void> => void calls.push(call);
  store.disturbance = { fault: () => 'none', delay, age: () => 0 };
});

function archiver(source: ArchiveSource = node): Archiver {
  return new Archiver({ store, newHash, source, clock: { nowMs: () => nowMs }, writer: 'one' });
}

function append(...lengths: readonly number[]): void {
  for (const bytes of lengths) history.append({ bytes, isTransaction: true, afterMs: 1 });
  node.applied = history.count;
}

describe('a round', () => {
  it('writes a manifest without objects for a database without records', async () => {
    expect(await archiver().round()).toBe('archived');
    expect(manifestsIn(store)).toMatchObject([{ number: 1, segments: [], tails: [] }]);
  });

  it('asks the store nothing while the database is idle', async () => {
    append(100);
    const one = archiver();
    expect([await one.round(), await one.round()]).toEqual(['archived', 'current']);
    calls = [];
    nowMs += 10 ** 9;
    expect(await one.round()).toBe('current');
    expect(calls).toEqual([]);
  });

  it.each([3_600_000, -1])('opens the archive again when its clock has moved by %i ms', async (movedMs) => {
    append(100);
    const one = archiver();
    await one.round();
    append(100);
    const other = archiver();
    await other.round();
    append(100);
    nowMs += movedMs;
    calls = [];
    expect(await one.round()).toBe('archived');
    expect(calls[0]).toContain('list');
    expect(manifestsIn(store).map(({ basis }) => basis?.number)).toEqual([undefined, 1, 2]);
  });

  it('opens the archive again after a failure, and begins with the first segment when the store is empty', async () => {
    append(1_000, 1_000, 50);
    const one = archiver();
    await one.round();
    append(50);
    store.disturbance = { fault: () => 'refused', delay: async () => {}, age: () => 0 };
    await expect(one.round()).rejects.toThrow(StoreFailure);
    store.objects.clear();
    store.disturbance = undefined;
    expect(await one.round()).toBe('archived');
    expect(manifestsIn(store).map((manifest) => recordsOf(store, manifest).length)).toEqual([2_100]);
  });

  it('is overtaken by another archiver, and continues from its manifest', async () => {
    append(100);
    const one = archiver();
    await one.round();
    append(100);
    await archiver().round();
    append(100);
    expect([await one.round(), await one.round(), await one.round()]).toEqual(['overtaken', 'archived', 'current']);
    expect(manifestsIn(store).map((manifest) => recordsOf(store, manifest).length)).toEqual([100, 200, 300]);
  });

  it('waits while this node has less than the archive, and refuses another history', async () => {
    append(100, 100);
    await archiver().round();
    const lagging = new ArchivingNode(history);
    lagging.applied = 1;
    expect(await archiver(lagging).round()).toBe('waiting');
    const other = new ArchivedHistory(1_000);
    for (const bytes of [100, 101, 100]) other.append({ bytes, isTransaction: true, afterMs: 1 });
    const stranger = new ArchivingNode(other);
    stranger.applied = 3;
    const refused = await archiver(stranger)
      .round()
      .catch((failure: unknown) => failure);
    expect(refused).toBeInstanceOf(ArchiveFault);
    expect(String(refused)).toMatch(
      /manifests\/000000000001 .* the chain hash of revision 2 is \w{64} in it, and \w{64}/,
    );
  });

  it('refuses a history that differs in control records only, and waits while it has fewer of them', async () => {
    append(100);
    await archiver().round();
    history.append({ bytes: 50, isTransaction: false, afterMs: 0 });
    node.applied = history.count;
    await archiver().round();
    const lagging = new ArchivingNode(history);
    lagging.applied = 1;
    expect(await archiver(lagging).round()).toBe('waiting');
    const other = new ArchivedHistory(1_000);
    for (const bytes of [100, 60, 100]) other.append({ bytes, isTransaction: bytes !== 60, afterMs: 1 });
    const stranger = new ArchivingNode(other);
    stranger.applied = 3;
    await expect(archiver(stranger).round()).rejects.toThrow(
      /manifests\/000000000002 .* the SHA-256 of the records up to 150 is \w{64} in it, and \w{64} on this node/,
    );
  });

  it('waits for the end of a segment that is not sealed yet', async () => {
    append(600, 600, 50);
    node.checkpoint = 0;
    const one = archiver();
    expect(await one.round()).toBe('waiting');
    node.checkpoint = 3;
    expect([await one.round(), await one.round()]).toEqual(['archived', 'current']);
    expect(manifestsIn(store).map(({ segments, tails }) => [segments.length, tails.length])).toEqual([[1, 1]]);
  });

  it('archives at most 16 segments at once, and a tail after the last one', async () => {
    append(...Array.from({ length: 21 }, () => 1_000), 50);
    const one = archiver();
    expect(await one.lagBytes()).toBe(21_050);
    expect(await one.round()).toBe('partial');
    expect(await one.lagBytes()).toBe(5_050);
    expect([await one.round(), await one.round(), await one.lagBytes()]).toEqual(['archived', 'current', 0]);
    const counts = manifestsIn(store).map(({ segments, tails }) => [segments.length, tails.length]);
    expect(counts).toEqual([
      [16, 0],
      [21, 1],
    ]);
  });

  it('does not send the end of an object that changes while it is sent', async () => {
    append(100, 100);
    const stored: number[] = [];
    let reads = 0;
    const changing: ArchiveSource = {
      database: node.database,
      state: () => node.state(),
      sealed: (position) => node.sealed(position),
      chainHashAt: (revision) => node.chainHashAt(revision),
      records: (from, to) => ({
        byteLength: to - from,
        async *chunks() {
          reads += 1;
          yield* [history.bytes.slice(from, to - 1), Uint8Array.of(reads)];
        },
      }),
    };
    const put = store.put.bind(store);
    store.put = async (name, content) => {
      for await (const chunk of content.chunks()) stored.push(chunk.length);
      await put(name, content);
    };
    await expect(archiver(changing).round()).rejects.toThrow('has changed while it was read');
    expect(stored).toEqual([199]);
  });

  it('does not send a segment again that the store has', async () => {
    append(1_000, 1_000, 50);
    await archiver().round();
    for (const name of store.objects.keys()) if (name.includes('manifests')) store.objects.delete(name);
    calls = [];
    await archiver().round();
    expect(calls.filter((call) => call.includes('put segments'))).toEqual([]);
    expect(calls.filter((call) => call.startsWith('none create'))).toHaveLength(1);
  });
});

describe('tails', () => {
  it('are few, and each byte is written again only when its object grows by half', () => {
    let tails: ReturnType<typeof tailsToKeep> = [];
    let written = 0;
    const end = 2 ** 20;
    for (let to = 64; to <= end; to += 64) {
      const kept = tailsToKeep(tails, to);
      const bytes = to - (kept.at(-1)?.end ?? 0);
      written += bytes;
      tails = [...kept, { hash: '', bytes, end: to, revision: to, recordedTimeMs: to, number: to }];
      expect(tails.length).toBeLessThanOrEqual(15);
    }
    expect(written / end).toBeLessThanOrEqual(Math.log2(end / 64) + 1);
  });
});

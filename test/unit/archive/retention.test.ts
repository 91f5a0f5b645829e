// Goal: retention keeps what restores and archivers may need, and removes the rest, also when one of them sleeps or
// stops in the middle (X7). Method: archives with more manifests than a search passes over; each call of an archiver,
// of retention and of a restore sleeps in turn while others write and remove; calls of retention fail in turn.
import { beforeEach, describe, expect, it } from 'vitest';
import { type Archiver, contentOf, openArchive, planRestore, pruneArchive } from '#archive';
import { archivedDatabase } from '../../../src/main/archive/archived-database.ts';
import { ArchiveWorld } from '../../support/archive/archive-world.ts';
import { ArchivingNode, DATABASE, newHash } from '../../support/archive/archived-history.ts';
import { manifestName, manifestsIn, tailName } from '../../support/archive/restored.ts';
import { StoreFailure } from '../../support/archive/simulated-store.ts';

const ROUNDS = 70;
const RECORDS = 3 * ROUNDS;

let world: ArchiveWorld;
let node: ArchivingNode;
let archiver: Archiver;

beforeEach(() => begin());

/** A history that is applied further than it is archived, on two nodes. */
function begin(segmentBytes?: number): void {
  world = new ArchiveWorld(segmentBytes);
  for (let count = 0; count < RECORDS; count++) world.history.append({ bytes: 7, isTransaction: true, afterMs: 1 });
  node = new ArchivingNode(world.history);
  archiver = world.archiver(node, 'one');
}

/** So many manifests that the first ones are not needed, with a record more in each. */
async function archiveMany(): Promise<void> {
  for (let count = 0; count < ROUNDS; count++) {
    node.applied += 1;
    world.nowMs += 5_000;
    await world.round(archiver, node);
  }
}

async function writeAndPrune(): Promise<void> {
  await archiveMany();
  await world.prune();
}

/** The calls of retention to try: it makes hundreds, most of which are alike. */
function callAfter(at: number): number {
  return at + (at < 10 ? 1 : 17);
}

/** Works, and in its call `at` sleeps while others write and remove. @returns false when it has fewer calls */
async function sleepIn(at: number, work: () => Promise<unknown>): Promise<boolean> {
  let calls = 0;
  const delay = async (): Promise<void> => {
    if (calls++ === at) await writeAndPrune();
  };
  world.store.disturbance = { fault: () => 'none', delay, age: () => 0 };
  await work();
  world.store.disturbance = undefined;
  return calls > at;
}

function names(part: string): readonly string[] {
  return [...world.store.objects.keys()].filter((name) => name.includes(part));
}

function numbers(): readonly number[] {
  return manifestsIn(world.store).map(({ number }) => number);
}

/** Tails of these manifests. */
function tailsOf(from: number): ReadonlySet<string> {
  const manifests = manifestsIn(world.store).filter(({ number }) => number >= from);
  return new Set(manifests.flatMap(({ tails }) => tails.map(tailName)));
}

function prune(): ReturnType<typeof pruneArchive> {
  return pruneArchive({ store: world.store, newHash }, DATABASE.id, world.nowMs - world.ttlMs);
}

describe('retention', () => {
  it('keeps the last 64 manifests, one of 32 before them, and what these name', async () => {
    await archiveMany();
    await archiveMany();
    const before = names('/tails/').length;
    const kept = tailsOf(1);
    expect(await prune()).toEqual({ manifests: 140 - 64 - 2, tails: before - names('/tails/').length });
    expect(numbers()).toEqual([32, 64, ...Array.from({ length: 64 }, (_, index) => 77 + index)]);
    expect(new Set(names('/tails/'))).toEqual(tailsOf(32));
    expect(names('/tails/').length).toBeLessThan(kept.size);
    expect(await prune()).toEqual({ manifests: 0, tails: 0 });
    expect(await world.isWhole()).toBe(true);
  });

  it('removes tails of old manifests, but not of the last 64, however old', async () => {
    await archiveMany();
    await archiveMany();
    world.ttlMs = -1;
    await prune();
    expect(numbers().slice(0, 3)).toEqual([32, 64, 77]);
    expect(new Set(names('/tails/'))).toEqual(tailsOf(77));
    expect(await world.isWhole()).toBe(true);
  });

  it('removes what an archiver has left that stopped, and nothing that one is about to name', async () => {
    await archiveMany();
    const left = tailName({ number: ROUNDS, hash: 'ab'.repeat(32), end: 0, revision: 0 });
    const next = tailName({ number: ROUNDS + 1, hash: 'ab'.repeat(32), end: 0, revision: 0 });
    const foreign = `databases/${DATABASE.id}/tails/notes`;
    for (const name of [left, next, foreign]) await world.store.put(name, contentOf(new Uint8Array(3)));
    await prune();
    expect([left, next, foreign].map((name) => world.store.objects.has(name))).toEqual([false, true, true]);
  });

  it('removes nothing while the newest backup is not whole', async () => {
    await archiveMany();
    const { objects } = world.store;
    const [tail = ''] = [...tailsOf(ROUNDS)];
    const [segment = ''] = names('segments/');
    for (const name of [tail, segment, manifestName(ROUNDS)]) {
      const bytes = objects.get(name) ?? new Uint8Array(0);
      objects.set(name, bytes.subarray(1));
      const count = objects.size;
      await expect(prune()).rejects.toThrow(`object ${name} of the archive cannot be used: `);
      expect(objects.size).toBe(count);
      objects.set(name, bytes);
    }
    expect((await prune()).manifests).toBe(6);
  });

  it('is completed by the next call when any call of it has failed', async () => {
    for (let at = 0, isDone = false; !isDone; at = callAfter(at)) {
      begin();
      await archiveMany();
      let calls = 0;
      const fault = (): 'lost' | 'none' => (calls++ === at ? 'lost' : 'none');
      world.store.disturbance = { fault, delay: async () => {}, age: () => 0 };
      const result = await prune().catch((failure: unknown) => failure);
      isDone = calls <= at;
      expect(result instanceof StoreFailure).toBe(!isDone);
      world.store.disturbance = undefined;
      await prune();
      expect([numbers().length, numbers()[1]]).toEqual([64, 8]);
      expect(new Set(names('/tails/'))).toEqual(tailsOf(1));
    }
  });
});

describe('while others write and remove', () => {
  it.each([2, RECORDS])('an archiver sleeps in any call, with %i records applied', async (applied) => {
    for (let at = 0, isDone = false; !isDone; at++) {
      begin();
      node.applied = 1;
      await world.round(archiver, node);
      const sleeper = new ArchivingNode(world.history);
      sleeper.applied = applied;
      const sleeping = world.archiver(sleeper, 'sleeper');
      isDone = !(await sleepIn(at, () => world.round(sleeping, sleeper)));
      await world.round(sleeping, sleeper);
      await writeAndPrune();
      expect(await world.isWhole()).toBe(true);
    }
  });

  it('retention sleeps in any call', async () => {
    for (let at = 0, isDone = false; !isDone; at = callAfter(at)) {
      begin();
      await archiveMany();
      isDone = !(await sleepIn(at, () => world.prune()));
      expect(await world.isWhole()).toBe(true);
    }
  });

  it('a restore sleeps after it was planned', async () => {
    begin(900);
    await archiveMany();
    await archiveMany();
    const ports = { store: world.store, newHash };
    const plan = planRestore(await openArchive(ports, DATABASE.id), DATABASE.id);
    await writeAndPrune();
    await expect(Promise.all(plan.objects.map(({ name }) => world.store.size(name)))).resolves.toContain(undefined);
    const gets: string[] = [];
    const delay = async (call: string): Promise<void> =>
      void gets.push(...(/^none get (.*)/.exec(call)?.slice(1) ?? []));
    world.store.disturbance = { fault: () => 'none', delay, age: () => 0 };
    for await (const _ of archivedDatabase(ports, plan).history);
    const kinds = gets.map((name) => name.replace(/.*(manifest|tail|segment)s.*/, '$1'));
    expect(kinds.join(' ')).toMatch(/^manifest( tail)+ segment$/);
  });
});

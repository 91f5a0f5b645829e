// Goal: from a damaged archive a restore gives exactly the records up to its point, or names the object that cannot
// be used; and a damaged archive can be continued (X5). Method: archives with segments, tails and manifests; each
// object removed, cut, emptied, exchanged for another one, or changed in a byte; restores to the end, to each revision
// and each time.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { type ArchiveFault, Archiver, type HistoryState, openArchive, planRestore, type RestorePoint } from '#archive';
import { ArchivedHistory, ArchivingNode, DATABASE, newHash } from '../../support/archive/archived-history.ts';
import { manifestsIn, restored, restoredOrFault } from '../../support/archive/restored.ts';
import { SimulatedStore } from '../../support/archive/simulated-store.ts';
import { runs } from '../../support/runs.ts';

const RECORDS = 40;

interface Archive {
  readonly store: SimulatedStore;
  readonly history: ArchivedHistory;
  readonly node: ArchivingNode;
}

/** An archive of a history with so many records between two rounds. */
async function archived(distances: readonly number[]): Promise<Archive> {
  const history = new ArchivedHistory(400);
  const node = new ArchivingNode(history);
  const store = new SimulatedStore();
  const archiver = archiverOf(store, node);
  for (let index = 0; index < RECORDS; index++) append(history, index);
  for (let index = 0; node.applied < RECORDS; index++) {
    node.applied = Math.min(RECORDS, node.applied + (distances[index % distances.length] ?? 1));
    await archiver.round();
  }
  return { store, history, node };
}

function archiverOf(store: SimulatedStore, source: ArchivingNode): Archiver {
  return new Archiver({ store, newHash, source, clock: { nowMs: () => 0 }, writer: 'one' });
}

function append(history: ArchivedHistory, index: number): void {
  history.append({ bytes: 20 + ((index * 37) % 50), isTransaction: index % 4 !== 1, afterMs: index % 3 });
}

/** The points of a history: its end, all revisions, and all times. */
function pointsOf(states: readonly HistoryState[]): readonly RestorePoint[] {
  const revisions = new Set(states.map(({ revision }) => revision));
  const times = new Set(states.map(({ recordedTimeMs }) => Math.max(recordedTimeMs, DATABASE.createdAtMs)));
  return [
    {},
    ...[...revisions].map((revision): RestorePoint => ({ revision })),
    ...[...times].map((timeMs): RestorePoint => ({ timeMs })),
  ];
}

/** Where the records end that a restore must give at least. */
function neededEnd(states: readonly HistoryState[], point: RestorePoint): number {
  const needed = states.filter(({ revision, recordedTimeMs }) => {
    const { revision: last = revision, timeMs = recordedTimeMs } = point;
    return revision <= last && recordedTimeMs <= timeMs;
  });
  return needed.at(-1)?.position ?? 0;
}

/** Returns whether the records begin the history and reach the point. */
function isExact({ history }: Archive, records: Uint8Array, point: RestorePoint): boolean {
  const isBeginning = Buffer.compare(records, history.bytes.subarray(0, records.length)) === 0;
  return isBeginning && records.length >= neededEnd(history.states, point);
}

interface Damage {
  readonly name: string;
  /** The newest manifest was removed: the archive is an older one. */
  readonly isOlder: boolean;
}

/** Undefined when a restore gave what it should, or named the damaged object. */
function faultIn(
  archive: Archive,
  found: Uint8Array | ArchiveFault,
  point: RestorePoint,
  { name, isOlder }: Damage,
): string | undefined {
  if (!(found instanceof Uint8Array)) return found.object === name || isOlder ? undefined : found.message;
  const least: RestorePoint = isOlder ? { revision: -1 } : point;
  return isExact(archive, found, least) ? undefined : `${found.length} bytes for ${JSON.stringify(point)}`;
}

const arbDamage = fc.record({
  object: fc.nat(1_000),
  kind: fc.constantFrom('removed', 'cut', 'empty', 'exchanged', 'changed', 'longer'),
  place: fc.nat(100_000),
});

function damage(store: SimulatedStore, name: string, kind: string, place: number): void {
  const bytes = store.objects.get(name) ?? new Uint8Array(0);
  const folder = name.slice(0, name.lastIndexOf('/'));
  const others = [...store.objects.keys()].filter((other) => other !== name && other.startsWith(folder));
  const changed = bytes.slice();
  const at = place % bytes.length;
  changed[at] = (changed[at] ?? 0) ^ (1 << (place % 8));
  const results: Record<string, Uint8Array | undefined> = {
    cut: bytes.subarray(0, at),
    empty: new Uint8Array(0),
    exchanged: store.objects.get(others[place % others.length] ?? '') ?? new Uint8Array(1),
    changed,
    longer: Buffer.concat([bytes, Buffer.from('\n')]),
  };
  const result = results[kind];
  if (result === undefined) store.objects.delete(name);
  else store.objects.set(name, result);
}

const arbDistances = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 10 });

it('plans the objects up to the restore point, and none after', async () => {
  const property = fc.asyncProperty(arbDistances, async (distances) => {
    const archive = await archived(distances);
    const { store, history } = archive;
    for (const point of pointsOf(history.states)) {
      expect(isExact(archive, await restored(store, point), point)).toBe(true);
      const { objects } = planRestore(await openArchive({ store, newHash }, DATABASE.id), DATABASE.id, point);
      expect(objects.at(-2)?.end ?? 0).toBeLessThanOrEqual(neededEnd(history.states, point));
    }
  });
  await fc.assert(property, { numRuns: runs(30) });
});

it('restores exactly or names the damaged object, and continues a damaged archive', async () => {
  const property = fc.asyncProperty(arbDistances, arbDamage, async (distances, { object, kind, place }) => {
    const archive = await archived(distances);
    const { store, history, node } = archive;
    const names = [...store.objects.keys()].toSorted();
    const name = names[object % names.length] ?? '';
    const last = names.findLast((each) => each.includes('/manifests/'));
    damage(store, name, kind, place);
    const damaged = { name, isOlder: name === last && kind === 'removed' };
    for (const point of pointsOf(history.states)) {
      const found = await restoredOrFault(store, point);
      expect(faultIn(archive, found, point, damaged)).toBe(undefined);
    }
    for (let index = 0; index < 30; index++) append(history, index);
    node.applied = history.count;
    const successor = archiverOf(store, node);
    while (['archived', 'partial'].includes(await successor.round()));
    const found = await restoredOrFault(store, {});
    expect(faultIn(archive, found, {}, { name, isOlder: false })).toBe(undefined);
    expect(found instanceof Uint8Array || !name.includes('/manifests/')).toBe(true);
  });
  await fc.assert(property, { numRuns: runs(150) });
});

it('says up to which revision the archive can be restored without the damaged object', async () => {
  const archive = await archived([3]);
  const { store } = archive;
  const { segments } = manifestsIn(store).at(-1) ?? { segments: [] };
  expect(segments.length).toBeGreaterThan(2);
  for (const [index, { hash }] of segments.entries()) {
    const name = `segments/${hash}`;
    const bytes = store.objects.get(name) ?? new Uint8Array(0);
    store.objects.delete(name);
    const basis = segments[index - 1]?.revision ?? 0;
    const hint = basis === 0 ? 'nothing can be' : `the archive can be restored up to revision ${basis - 1}`;
    const fault = `object ${name} of the archive cannot be used: it is missing; ${hint}`;
    await expect(restored(store, {})).rejects.toThrow(fault);
    const point = { revision: basis - 1 };
    expect(basis === 0 || isExact(archive, await restored(store, point), point)).toBe(true);
    store.objects.set(name, bytes);
  }
});

it('restores exactly up to the revision that it names, wherever the archive is cut or damaged', async () => {
  const archive = await archived([1, 2, 5]);
  const { store } = archive;
  const objects = [...store.objects].map(([name, bytes]) => ({ name, bytes }));
  const newest = objects.findLast(({ name }) => name.includes('/manifests/'))?.name;
  const total = objects.reduce((sum, { bytes }) => sum + bytes.length, 0);
  const places = fc.sample(fc.nat(total - 1), { numRuns: 200, seed: 33 });
  const cases = [
    ...objects.flatMap(({ name, bytes }) => [
      { name, damaged: undefined },
      { name, damaged: bytes.subarray(0, bytes.length >> 1) },
    ]),
    ...places.map((place) => changedAt(objects, place)),
  ];
  const outcomes = new Set<string>();
  for (const { name, damaged } of cases) {
    for (const each of objects) store.objects.set(each.name, each.bytes);
    if (damaged === undefined) store.objects.delete(name);
    else store.objects.set(name, damaged);
    outcomes.add(await outcomeOf(archive, { name, isOlder: name === newest && damaged === undefined }));
  }
  expect(outcomes).toEqual(new Set(['exact', 'exact up to the revision', 'nothing']));
});

/** A restore, and one up to the revision that its refusal names. */
async function outcomeOf(archive: Archive, { name, isOlder }: Damage): Promise<string> {
  const { store } = archive;
  const found = await restoredOrFault(store, {});
  if (found instanceof Uint8Array) {
    const least: RestorePoint = isOlder ? { revision: -1 } : {};
    return isExact(archive, found, least) ? 'exact' : `${found.length} bytes after damage of ${name}`;
  }
  if (found.object !== name) return found.message;
  if (found.message.endsWith('; nothing can be restored without it')) return 'nothing';
  const [, revision] = /; the archive can be restored up to revision (\d+)$/.exec(found.message) ?? [];
  const point = { revision: Number(revision) };
  const again = await restoredOrFault(store, point);
  const isRight = again instanceof Uint8Array && isExact(archive, again, point);
  return isRight ? 'exact up to the revision' : `not restored to what was named: ${found.message}`;
}

/** The object with this byte, when all are one behind the other, and the byte changed. */
function changedAt(
  objects: readonly { readonly name: string; readonly bytes: Uint8Array }[],
  place: number,
): { readonly name: string; readonly damaged: Uint8Array } {
  let at = place;
  for (const { name, bytes } of objects) {
    if (at < bytes.length) {
      const damaged = bytes.slice();
      damaged[at] = (damaged[at] ?? 0) ^ (1 << (place % 8));
      return { name, damaged };
    }
    at -= bytes.length;
  }
  throw new Error(`the objects have less than ${place} bytes`);
}

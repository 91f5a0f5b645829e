// Goal: names are bound as the specification requires, no id or group is used twice (D10), and a store has one number
// (D14). Method: random runs compared with a Map; broken and unknown entries.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { DatabaseError, type DatabaseId } from '#base';
import { type CatalogEntry, type CatalogOutcome, encodeCatalogEntry, type NodeRegistration } from '#database';
import { CatalogHost, idOf, registrationOf, replicasOn } from '../../support/catalog-host.ts';
import { runs } from '../../support/runs.ts';

const ID_AND_TIME = Array<number>(24).fill(0).with(6, 0x70).with(8, 0x80);
const NODE = [1, 26, ...Array<number>(16).fill(7)];

class NaiveCatalog {
  readonly bound = new Map<string, { readonly databaseId: DatabaseId; readonly group: number }>();
  #groups = 0;

  apply(entry: Extract<CatalogEntry, { readonly kind: 'create' | 'delete' }>): CatalogOutcome['kind'] {
    const found = this.bound.get(entry.name);
    if (entry.kind === 'create') {
      if (found !== undefined) return 'exists';
      this.bound.set(entry.name, { databaseId: entry.databaseId, group: ++this.#groups });
      return 'created';
    }
    if (found === undefined || (entry.databaseId ?? found.databaseId) !== found.databaseId) return 'absent';
    this.bound.delete(entry.name);
    return 'deleted';
  }
}

const NODES = [1, 2, 2 ** 32 - 1];

/** Registration of store `n` after the given number of moves. */
function movedTo(n: number, moved: number): Partial<NodeRegistration> {
  const mcp = n % 3 === 0 ? { mcp: `http://127.0.0.1:${40_000 + moved}` } : {};
  return { zone: n % 2 === 0 ? '' : 'zone-ä', grpc: `127.0.0.1:${50_000 + moved}`, ...mcp };
}

it('nodes of the CatalogMachine equal those of a list, for any order, repeats and restarts (D8, D14)', async () => {
  const register = fc.record({ store: fc.nat(12), moved: fc.nat(2) });
  const steps = fc.array(fc.oneof({ weight: 5, arbitrary: register }, fc.constant('reopen')), { maxLength: 80 });
  const property = fc.asyncProperty(steps, async (list) => {
    const [host, other] = [new CatalogHost(), new CatalogHost()];
    const stores: number[] = [];
    const movedOf = new Map<number, number>();
    let changes = 0;
    for (const step of list) {
      if (typeof step === 'string') {
        await host.reopen();
        continue;
      }
      const isNew = !stores.includes(step.store);
      const kind = movedOf.get(step.store) === step.moved ? 'known' : 'registered';
      if (isNew) stores.push(step.store);
      movedOf.set(step.store, step.moved);
      if (kind === 'registered') changes += 1;
      const registration = registrationOf(step.store, movedTo(step.store, step.moved));
      const entry = { kind: 'register', registration } as const;
      const node = { ...entry.registration, node: stores.indexOf(step.store) + 1, state: 'active' };
      expect(host.apply(entry)).toEqual({ kind, node, ...(kind === 'registered' && { isNew }) });
      other.apply(entry);
    }
    await host.reopen();
    expect(host.machine.nodes().map(({ storeId }) => storeId)).toEqual(stores.map(idOf));
    expect(host.machine.nodes()).toEqual(other.machine.nodes());
    expect(host.machine.applied).toEqual(other.machine.applied);
    expect(host.machine.applied.revision).toBe(changes);
  });
  await expect(fc.assert(property, { numRuns: runs(60) })).resolves.toBeUndefined();
});

it('nodes of the CatalogMachine fail, and never hang, on any other bytes of their entry or row (D1, D9)', () => {
  const intact = encodeCatalogEntry({ kind: 'register', registration: registrationOf(300) });
  const endOf = (payload: Uint8Array): unknown => {
    try {
      return new CatalogHost().applyPayload(payload).kind;
    } catch (failure) {
      return failure instanceof DatabaseError ? failure.details.reason : failure;
    }
  };
  const property = fc.property(fc.nat(intact.length - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
    const broken = intact.with(at, (intact[at] ?? 0) ^ flip);
    expect(['registered', 'unsupported', 'absent', 'UnknownEntry']).toContain(endOf(broken));
    expect(endOf(intact.subarray(0, at))).toBe('UnknownEntry');
  });
  expect(() => fc.assert(property, { numRuns: runs(500) })).not.toThrow();
});

it('CatalogMachine has the results of a Map and never uses a group twice, with any restarts (D8, D10)', async () => {
  const name = fc.nat(30).map((n) => `db-${n}`);
  const create = fc.record({ kind: fc.constant('create' as const), name });
  const remove = fc.record({
    kind: fc.constant('delete' as const),
    name,
    id: fc.option(fc.nat(2), { nil: undefined }),
  });
  const reopen = fc.record({ kind: fc.constant('reopen' as const) });
  const steps = fc.array(fc.oneof(create, remove, reopen), { maxLength: 300, size: 'max' });
  const property = fc.asyncProperty(steps, async (list) => {
    const host = new CatalogHost();
    const naive = new NaiveCatalog();
    const differences: unknown[] = [];
    for (const [n, step] of list.entries()) {
      if (step.kind === 'reopen') {
        await host.reopen();
        continue;
      }
      const databaseId = step.kind === 'delete' && step.id !== undefined ? idOf(step.id) : undefined;
      const created = { databaseId: idOf(n % 3), createdAtMs: n, replicas: replicasOn(NODES), copies: n % 8 };
      const entry = step.kind === 'create' ? { ...step, ...created } : { ...step, ...(databaseId && { databaseId }) };
      const [found, expected] = [host.apply(entry).kind, naive.apply(entry)];
      const isListed = host.machine.list().length === naive.bound.size;
      if (found !== expected || !isListed) differences.push({ entry, found, expected, isListed });
    }
    await host.reopen();
    expect(differences).toEqual([]);
    const listed = host.machine.list().map(({ name: key, databaseId, group }) => [key, { databaseId, group }] as const);
    expect(new Map(listed)).toEqual(naive.bound);
  });
  await expect(fc.assert(property, { numRuns: runs(30) })).resolves.toBeUndefined();
});

it.each([
  ['a later format', [2, 16], 'format 2 is unknown here, 1 would be known'],
  ['a kind of a database', [1, 1, 0], 'kind 1 is none of the catalog'],
  ['an unknown kind', [1, 99], 'kind 99 is none of the catalog'],
  ['a cut', [1, 17, 0, 5, 0x61], 'cut short'],
  ['a tail', [1, 17, 0, 1, 0x61, 0], 'cut short or malformed'],
  ['no name', [1, 17, 0, 0], 'cut short or malformed'],
  ['a node that is cut short', [...NODE, 1, 0x61, 0], 'cut short or malformed'],
  ['a tail behind a node', [...NODE, 0, 0, 0, 0, 0, 0, 1, 1, 9], 'cut short or malformed'],
  ['a port above 65535', [...NODE, 0, 0, 0, 0x80, 0x80, 4, 0, 0, 1, 1], 'cut short or malformed'],
  ['a text that is not UTF-8', [...NODE, 1, 0xff, 0, 0, 0, 0, 0, 1, 1], 'cut short or malformed'],
  ['level 0', [1, 27, 0], 'cut short or malformed'],
  ['a level beyond a byte', [1, 27, 0x80, 2], 'cut short or malformed'],
  ['a tail behind a level', [1, 27, 2, 2], 'cut short or malformed'],
  ['no replica', [1, 16, ...ID_AND_TIME, 0, 1, 0x61], 'malformed'],
  ['an id that is no UUIDv7', [1, 16, ...Array<number>(24).fill(0), 1, 1, 1, 0x61], 'malformed'],
])('CatalogMachine fails at an entry with %s (D9)', (_name, payload, fault) => {
  const host = new CatalogHost();
  expect(() => host.applyPayload(Uint8Array.from(payload))).toThrow(fault);
  expect(host.machine.applied.index).toBe(0);
});

it('CatalogMachine fails at a broken row (D1)', async () => {
  const host = new CatalogHost();
  host.create('a', 1, NODES);
  host.register(1);
  await host.reopen();
  const rows = await host.kv.range({ gte: new Uint8Array(0), lt: Uint8Array.of(0xff) }).next(10);
  expect(rows).toHaveLength(3);
  for (const { key, value } of rows) {
    const broken = value.slice();
    broken[3] = (broken[3] ?? 0) ^ 4;
    const batch = host.kv.batch();
    batch.put(key, broken);
    await host.kv.write(batch);
    expect(() => host.open()).toThrow('is corrupt');
    const mended = host.kv.batch();
    mended.put(key, value);
    await host.kv.write(mended);
  }
});

// Goal: names are bound and unbound as the specification says, ids and groups are never used twice (D10), and a store
// has one number for ever (D14).
// Method: the table of the specification's transitions, a random run against a Map, and broken or unknown entries.

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  CATALOG_GROUP,
  DatabaseError,
  type DatabaseId,
  LEVELS,
  replicaOf,
  toDatabaseId,
  toLogIndex,
  toNodeId,
  toTerm,
} from '#base';
import {
  type CatalogEntry,
  CatalogMachine,
  type CatalogOutcome,
  encodeCatalogEntry,
  type NodeRegistration,
} from '#database';
import { type KvStore, memoryKv } from '#kv';
import { sourceOf } from '../../support/database-host.ts';
import { runs } from '../../support/runs.ts';

const REPLICAS = [1, 2, 2 ** 32 - 1].map((node) => replicaOf(toNodeId(node), 7));

const ID_AND_TIME = Array<number>(24).fill(0).with(6, 0x70).with(8, 0x80);

class CatalogHost {
  readonly kv: KvStore = memoryKv();
  machine: CatalogMachine = this.open();
  #index = 0;

  open(): CatalogMachine {
    return CatalogMachine.open(sourceOf(this.kv, CATALOG_GROUP), Uint8Array.of(1, 2, 3));
  }

  apply(entry: CatalogEntry): CatalogOutcome {
    return this.applyPayload(encodeCatalogEntry(entry));
  }

  applyPayload(payload: Uint8Array): CatalogOutcome {
    return this.machine.apply({ index: toLogIndex(++this.#index), term: toTerm(1), payload });
  }

  async flushAndReopen(): Promise<void> {
    const batch = this.kv.batch();
    this.machine.flushInto(batch);
    await this.kv.write(batch);
    this.machine = this.open();
  }
}

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

function idOf(n: number): DatabaseId {
  return toDatabaseId(`0198c0de-0000-7000-8000-${n.toString(16).padStart(12, '0')}`);
}

function creation(name: string, n: number): CatalogEntry & { readonly kind: 'create' } {
  return { kind: 'create', name, databaseId: idOf(n), createdAtMs: 1000 + n, replicas: REPLICAS };
}

/** What the store number `n` says of itself when it has moved so many times. */
function registrationOf(n: number, moved: number): NodeRegistration {
  return {
    storeId: idOf(n),
    name: `node-${n}`,
    zone: n % 2 === 0 ? '' : 'zone-ä',
    peer: { host: '127.0.0.1', port: moved },
    grpc: `127.0.0.1:${50_000 + moved}`,
    http: '',
    ...(n % 3 === 0 && { mcp: `http://127.0.0.1:${40_000 + moved}` }),
    levels: LEVELS,
  };
}

describe('nodes of the CatalogMachine', () => {
  it('get the next number each, and keep it when they move (D14)', async () => {
    const host = new CatalogHost();
    const first = { ...registrationOf(7, 0), node: 1, state: 'active' };
    expect(host.apply({ kind: 'register', registration: registrationOf(7, 0) })).toEqual({
      kind: 'registered',
      node: first,
      isNew: true,
    });
    expect(host.apply({ kind: 'register', registration: registrationOf(5, 0) })).toMatchObject({ node: { node: 2 } });
    expect(host.apply({ kind: 'register', registration: registrationOf(7, 0) })).toEqual({
      kind: 'known',
      node: first,
    });
    expect(host.machine.applied.revision).toBe(2);
    await host.flushAndReopen();
    const moved = { ...registrationOf(7, 9), node: 1, state: 'active' };
    expect(host.apply({ kind: 'register', registration: registrationOf(7, 9) })).toEqual({
      kind: 'registered',
      node: moved,
      isNew: false,
    });
    expect(host.machine.nodes()).toMatchObject([moved, { node: 2 }]);
    expect(host.machine.applied.revision).toBe(3);
  });

  it('are as a list of stores says, whatever the order, the repeats and the restarts (D8, D14)', async () => {
    const register = fc.record({ store: fc.nat(12), moved: fc.nat(2) });
    const steps = fc.array(fc.oneof({ weight: 5, arbitrary: register }, fc.constant('reopen')), { maxLength: 80 });
    const property = fc.asyncProperty(steps, async (list) => {
      const [host, other] = [new CatalogHost(), new CatalogHost()];
      const stores: number[] = [];
      const movedOf = new Map<number, number>();
      let changes = 0;
      for (const step of list) {
        if (typeof step === 'string') {
          await host.flushAndReopen();
          continue;
        }
        const isNew = !stores.includes(step.store);
        const kind = movedOf.get(step.store) === step.moved ? 'known' : 'registered';
        if (isNew) stores.push(step.store);
        movedOf.set(step.store, step.moved);
        if (kind === 'registered') changes += 1;
        const entry = { kind: 'register', registration: registrationOf(step.store, step.moved) } as const;
        const node = { ...entry.registration, node: stores.indexOf(step.store) + 1, state: 'active' };
        expect(host.apply(entry)).toEqual({ kind, node, ...(kind === 'registered' && { isNew }) });
        other.apply(entry);
      }
      await host.flushAndReopen();
      expect(host.machine.nodes().map(({ storeId }) => storeId)).toEqual(stores.map(idOf));
      expect(host.machine.nodes()).toEqual(other.machine.nodes());
      expect(host.machine.applied).toEqual(other.machine.applied);
      expect(host.machine.applied.revision).toBe(changes);
    });
    await expect(fc.assert(property, { numRuns: runs(60) })).resolves.toBeUndefined();
  });

  it('stop the node, and never hang it, when their entry or row is any other bytes (D1, D9)', () => {
    const intact = encodeCatalogEntry({ kind: 'register', registration: registrationOf(300, 50_052) });
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
});

describe('CatalogMachine', () => {
  it('binds a free name and refuses a taken one with its binding', () => {
    const host = new CatalogHost();
    const held = { replicas: REPLICAS, leaving: [], founders: REPLICAS, placement: 0, isSettled: true };
    const binding = { name: 'shop', databaseId: idOf(1), group: 1, createdAtMs: 1001, ...held };
    expect(host.apply(creation('shop', 1))).toEqual({ kind: 'created', binding });
    expect(host.apply(creation('shop', 2))).toEqual({ kind: 'exists', binding });
    expect(host.machine.lookup('shop')).toEqual(binding);
    expect(host.machine.applied).toMatchObject({ index: 2, revision: 1, nextGroup: 2 });
  });

  it('keeps the membership of the last entry that had one, with the index that it is applied to', async () => {
    const host = new CatalogHost();
    expect(host.machine.applied.group).toEqual({ index: 0, membership: Uint8Array.of(1, 2, 3) });
    host.machine.advance(toLogIndex(1), toTerm(1), Uint8Array.of(4));
    host.machine.advance(toLogIndex(2), toTerm(1));
    await host.flushAndReopen();
    expect(host.machine.applied).toMatchObject({ index: 2, group: { index: 1, membership: Uint8Array.of(4) } });
  });

  it('deletes by name whatever instance is bound, and says when there is none', () => {
    const host = new CatalogHost();
    host.apply(creation('shop', 1));
    expect(host.apply({ kind: 'delete', name: 'shop' })).toMatchObject({ kind: 'deleted', binding: { group: 1 } });
    expect(host.apply({ kind: 'delete', name: 'shop' })).toEqual({ kind: 'absent' });
    expect(host.machine.lookup('shop')).toBeUndefined();
  });

  it('deletes by name and id only the instance with that id', () => {
    const host = new CatalogHost();
    host.apply(creation('shop', 1));
    host.apply({ kind: 'delete', name: 'shop' });
    host.apply(creation('shop', 2));
    expect(host.apply({ kind: 'delete', name: 'shop', databaseId: idOf(1) })).toEqual({ kind: 'absent' });
    expect(host.machine.lookup('shop')).toMatchObject({ databaseId: idOf(2), group: 2 });
    expect(host.apply({ kind: 'delete', name: 'shop', databaseId: idOf(2) })).toMatchObject({ kind: 'deleted' });
  });

  it('answers as a Map does and never uses a group twice, whatever the restarts (D8, D10)', async () => {
    const name = fc.nat(99).map((n) => `db-${n}`);
    const create = fc.record({ kind: fc.constant('create' as const), name });
    const remove = fc.record({
      kind: fc.constant('delete' as const),
      name,
      id: fc.option(fc.nat(200), { nil: undefined }),
    });
    const reopen = fc.record({ kind: fc.constant('reopen' as const) });
    const steps = fc.array(fc.oneof(create, remove, reopen), { maxLength: 300, size: 'max' });
    const property = fc.asyncProperty(steps, async (list) => {
      const host = new CatalogHost();
      const naive = new NaiveCatalog();
      const differences: unknown[] = [];
      for (const [n, step] of list.entries()) {
        if (step.kind === 'reopen') {
          await host.flushAndReopen();
          continue;
        }
        const databaseId = step.kind === 'delete' && step.id !== undefined ? idOf(step.id) : undefined;
        const entry = step.kind === 'create' ? creation(step.name, n) : { ...step, ...(databaseId && { databaseId }) };
        const [found, expected] = [host.apply(entry).kind, naive.apply(entry)];
        if (found !== expected) differences.push({ entry, found, expected });
      }
      await host.flushAndReopen();
      expect(differences).toEqual([]);
      const listed = host.machine
        .list()
        .map(({ name: key, databaseId, group }) => [key, { databaseId, group }] as const);
      expect(new Map(listed)).toEqual(naive.bound);
    });
    await expect(fc.assert(property, { numRuns: runs(30) })).resolves.toBeUndefined();
  });

  it('keeps its place and its chain hash over restarts, and they follow from the changes alone (D8)', async () => {
    const [one, other] = [new CatalogHost(), new CatalogHost()];
    for (const host of [one, other]) {
      host.apply(creation('a', 1));
      if (host === one) await host.flushAndReopen();
      host.machine.advance(toLogIndex(9), toTerm(2));
      if (host === one) await host.flushAndReopen();
    }
    expect(one.machine.applied).toEqual(other.machine.applied);
    expect(one.machine.applied).toMatchObject({ index: 9, term: 2, revision: 1, nextGroup: 2 });
  });

  it.each([
    ['a later format', [2, 16], 'format 2 is unknown here, 1 would be known'],
    ['a kind of a database', [1, 1, 0], 'kind 1 is none of the catalog'],
    ['an unknown kind', [1, 99], 'kind 99 is none of the catalog'],
    ['a cut', [1, 17, 0, 5, 0x61], 'cut short'],
    ['a tail', [1, 17, 0, 1, 0x61, 0], 'cut short or malformed'],
    ['no name', [1, 17, 0, 0], 'cut short or malformed'],
    ['a node that is cut short', [1, 26, ...Array<number>(16).fill(7), 1, 0x61, 0], 'cut short or malformed'],
    [
      'a tail behind a node',
      [1, 26, ...Array<number>(16).fill(7), 0, 0, 0, 0, 0, 0, 1, 1, 9],
      'cut short or malformed',
    ],
    [
      'a port above 65535',
      [1, 26, ...Array<number>(16).fill(7), 0, 0, 0, 0x80, 0x80, 4, 0, 0, 1, 1],
      'cut short or malformed',
    ],
    [
      'a text that is not UTF-8',
      [1, 26, ...Array<number>(16).fill(7), 1, 0xff, 0, 0, 0, 0, 0, 1, 1],
      'cut short or malformed',
    ],
    ['level 0', [1, 27, 0], 'cut short or malformed'],
    ['a level beyond a byte', [1, 27, 0x80, 2], 'cut short or malformed'],
    ['a tail behind a level', [1, 27, 2, 2], 'cut short or malformed'],
    ['no replica', [1, 16, ...ID_AND_TIME, 0, 1, 0x61], 'names no replica'],
    ['an id that is no UUIDv7', [1, 16, ...Array<number>(24).fill(0), 1, 1, 1, 0x61], 'not a UUIDv7'],
  ])('stops at an entry with %s (D9)', (_name, payload, fault) => {
    const host = new CatalogHost();
    expect(() => host.applyPayload(Uint8Array.from(payload))).toThrow(fault);
    expect(host.machine.applied.index).toBe(0);
  });

  it('stops at a broken row (D1)', async () => {
    const host = new CatalogHost();
    host.apply(creation('a', 1));
    host.apply({ kind: 'register', registration: registrationOf(1, 0) });
    await host.flushAndReopen();
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
});

// Conformance tests of the port of an object store (src/archive/object-store.ts): every implementation passes the same
// cases.
import { beforeEach, describe, expect, it } from 'vitest';
import { bytesOf, contentOf, type ObjectContent, type ObjectStore } from '#archive';

const NAMES = ['segments/aa', 'databases/one/tails/bb', 'databases/one/manifests/000000000001'] as const;

async function read(store: ObjectStore, name: string): Promise<string | undefined> {
  const content = await store.get(name);
  if (content === undefined) return undefined;
  const bytes = await bytesOf(content);
  expect(bytes).toHaveLength(content.byteLength);
  return Buffer.from(bytes).toString();
}

function text(content: string): ObjectContent {
  return contentOf(Buffer.from(content));
}

/** Content in chunks, the last of which cannot be read. */
const BROKEN: ObjectContent = {
  byteLength: 8,
  async *chunks() {
    yield Buffer.from('half');
    throw new Error('the source is broken');
  },
};

export function objectStoreConformance(open: () => ObjectStore): void {
  let store: ObjectStore;
  beforeEach(() => {
    store = open();
  });

  describe('an object store', () => {
    it('returns what was put, and replaces it', async () => {
      for (const name of NAMES) {
        expect([await store.get(name), await store.size(name)]).toEqual([undefined, undefined]);
        await store.put(name, text('first'));
        await store.put(name, text('second one'));
        expect([await read(store, name), await store.size(name)]).toEqual(['second one', 10]);
      }
      await store.put(NAMES[0], text(''));
      expect([await read(store, NAMES[0]), await store.size(NAMES[0])]).toEqual(['', 0]);
    });

    it('returns large objects whole', async () => {
      const bytes = Buffer.alloc(3_000_001, 'abcdefg');
      await store.put('segments/large', contentOf(bytes));
      const content = await store.get('segments/large');
      expect(Buffer.compare(await bytesOf(content ?? contentOf(new Uint8Array(0))), bytes)).toBe(0);
    });

    it('creates an object once, of any number of callers', async () => {
      const created = await Promise.all(
        Array.from({ length: 8 }, (_, index) => store.create(NAMES[2], text(`by caller ${index}`))),
      );
      expect(created.filter(Boolean)).toHaveLength(1);
      expect(await read(store, NAMES[2])).toBe(`by caller ${created.indexOf(true)}`);
      expect(await store.create(NAMES[2], text('later'))).toBe(false);
      await store.remove(NAMES[2]);
      expect(await store.create(NAMES[2], text('later'))).toBe(true);
      expect(await read(store, NAMES[2])).toBe('later');
    });

    it('lists names by prefix, in order', async () => {
      for (const name of [...NAMES, 'databases/one/manifests/000000000010', 'databases/oneself/tails/cc']) {
        await store.put(name, text(name));
      }
      expect(await store.list('databases/one/')).toEqual([NAMES[2], 'databases/one/manifests/000000000010', NAMES[1]]);
      expect(await store.list('databases/one/manifests/0000000000')).toHaveLength(2);
      expect(await store.list('')).toHaveLength(5);
      expect(await store.list('nothing/there')).toEqual([]);
    });

    it('removes objects, also those that do not exist', async () => {
      await store.put(NAMES[0], text('first'));
      await store.remove(NAMES[0]);
      await store.remove(NAMES[0]);
      expect([await read(store, NAMES[0]), await store.list('')]).toEqual([undefined, []]);
    });

    it('keeps the old object when the new one cannot be read', async () => {
      await store.put(NAMES[0], text('first'));
      await expect(store.put(NAMES[0], BROKEN)).rejects.toThrow('the source is broken');
      await expect(store.create(NAMES[2], BROKEN)).rejects.toThrow('the source is broken');
      expect([await read(store, NAMES[0]), await store.list('')]).toEqual(['first', [NAMES[0]]]);
    });
  });
}

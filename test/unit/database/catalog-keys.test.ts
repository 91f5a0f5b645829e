// Goal: the catalog changes an API key only from the previous version (D31), stores keys, and each key has one encoding
// (M13). Method: a machine over memory, its export and import, random keys.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ByteReader, ByteWriter, CATALOG_GROUP, DatabaseError } from '#base';
import {
  API_KEYS_MAX,
  type CatalogEntry,
  CatalogExport,
  CatalogImport,
  encodeCatalogEntry,
  faultInForwardedEntry,
  TOKENS_MAX,
} from '#database';
import { API_KEY, type ApiKey, type Grant, ROLES } from '#model';
import { CatalogHost } from '../../support/catalog-host.ts';
import { sourceOf } from '../../support/database-host.ts';
import { runs } from '../../support/runs.ts';

const hashOf = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);

function keyOf(id: number, more: Partial<ApiKey> = {}): ApiKey {
  return {
    id: id.toString(16).padStart(3, '0').padEnd(16, '0'),
    version: 1,
    name: `key ${id}`,
    grants: [{ role: 'reader', databases: 'shop-*' }],
    createdAtMs: 1_700_000_000_000,
    createdBy: 'bootstrap',
    expiresAtMs: undefined,
    secrets: [{ hash: hashOf(id & 0xff), createdAtMs: 1_700_000_000_000, expiresAtMs: undefined }],
    ...more,
  };
}

const keep = (key: ApiKey): CatalogEntry => ({ kind: 'keep-key', key });

describe('API keys of the catalog', () => {
  it('change only to the next version (D31)', () => {
    const host = new CatalogHost();
    expect(host.apply(keep(keyOf(1)))).toEqual({ kind: 'key-kept', key: keyOf(1) });
    expect(host.apply(keep(keyOf(1)))).toEqual({ kind: 'key-unmoved', isFull: false });
    expect(host.apply(keep(keyOf(1, { version: 3 })))).toEqual({ kind: 'key-unmoved', isFull: false });
    const changed = keyOf(1, { version: 2, name: 'other' });
    expect(host.apply(keep(changed))).toEqual({ kind: 'key-kept', key: changed });
    expect(host.machine.apiKeys()).toEqual([changed]);
    expect(host.apply({ kind: 'remove-key', id: changed.id })).toEqual({ kind: 'key-removed', id: changed.id });
    expect(host.apply({ kind: 'remove-key', id: changed.id })).toEqual({ kind: 'key-unmoved', isFull: false });
    expect(host.apply(keep(keyOf(1, { version: 3 })))).toEqual({ kind: 'key-unmoved', isFull: false });
    expect(host.machine.apiKeys()).toEqual([]);
    // Rejected changes do not change the catalog.
    expect(host.machine.applied.revision).toBe(3);
  });

  it('have a maximum number, at which they can still be changed and removed', () => {
    const host = new CatalogHost();
    for (let id = 0; id < API_KEYS_MAX; id++) host.apply(keep(keyOf(id)));
    expect(host.apply(keep(keyOf(API_KEYS_MAX)))).toEqual({ kind: 'key-unmoved', isFull: true });
    expect(host.apply(keep(keyOf(7, { version: 2 })))).toMatchObject({ kind: 'key-kept' });
    expect(host.apply({ kind: 'remove-key', id: keyOf(9).id })).toMatchObject({ kind: 'key-removed' });
    expect(host.apply(keep(keyOf(API_KEYS_MAX)))).toMatchObject({ kind: 'key-kept' });
  });

  it('do not count against the maximum of tokens, nor tokens against theirs', async () => {
    const host = new CatalogHost();
    const token = (id: number): ApiKey => keyOf(id, { expiresAtMs: 1_700_000_900_000, token: { keyId: keyOf(1).id } });
    host.apply(keep(keyOf(1)));
    for (let id = 2; id < TOKENS_MAX + 2; id++) host.apply(keep(token(id)));
    const full = { kind: 'key-unmoved', isFull: true };
    expect(host.apply(keep(token(0)))).toEqual(full);
    await host.reopen();
    expect(host.apply(keep(token(0)))).toEqual(full);
    expect(host.apply(keep(keyOf(0)))).toMatchObject({ kind: 'key-kept' });
    expect(host.apply({ kind: 'remove-key', id: token(7).id })).toMatchObject({ kind: 'key-removed' });
    expect(host.apply(keep(token(7)))).toEqual({ kind: 'key-kept', key: token(7) });
    expect(host.apply(keep(token(0xfff)))).toEqual(full);
  });

  it('are stored across a restart, and removed ones are not', async () => {
    const host = new CatalogHost();
    const ids = [0x000, 0x0ff, 0x100, 0xfff];
    for (const id of ids) host.apply(keep(keyOf(id)));
    await host.flush();
    host.apply({ kind: 'remove-key', id: keyOf(0x100).id });
    host.apply(keep(keyOf(0xfff, { version: 2 })));
    await host.flush();
    expect(host.open().apiKeys()).toEqual([keyOf(0x000), keyOf(0x0ff), keyOf(0xfff, { version: 2 })]);
  });

  it('are part of an exported state, whose import reports the changes and stores them', async () => {
    const host = new CatalogHost();
    host.apply(keep(keyOf(1)));
    host.apply(keep(keyOf(2, { version: 1 })));
    host.apply(keep(keyOf(2, { version: 2 })));
    await host.flush();
    const behind = new CatalogHost();
    behind.apply(keep(keyOf(2)));
    behind.apply(keep(keyOf(3)));
    const parts = await CatalogExport.open(sourceOf(host.kv, CATALOG_GROUP));
    const taken = new CatalogImport(sourceOf(behind.kv, CATALOG_GROUP));
    const part = parts.next(1 << 20);
    expect(taken.take(part.data)).toBeUndefined();
    const catalog = taken.finish(part.last);
    if (typeof catalog === 'string') throw new Error(catalog);
    const changes = behind.machine.install(catalog);
    expect(
      changes.map((change) => [change.kind, 'id' in change ? change.id : 'key' in change && change.key.id]),
    ).toEqual([
      ['key-removed', keyOf(3).id],
      ['key-kept', keyOf(1).id],
      ['key-kept', keyOf(2).id],
    ]);
    await behind.flush();
    expect(behind.open().apiKeys()).toEqual([keyOf(1), keyOf(2, { version: 2 })]);
  });

  it('are entries that another node may forward to the leader', () => {
    for (const entry of [keep(keyOf(1)), { kind: 'remove-key', id: keyOf(1).id }] as const) {
      const payload = encodeCatalogEntry(entry);
      expect(faultInForwardedEntry(payload)).toBeUndefined();
      expect(faultInForwardedEntry(payload.subarray(0, -1))).toMatch(/cut short or malformed/);
      expect(faultInForwardedEntry(Uint8Array.of(...payload, 0))).toMatch(/cut short or malformed/);
      expect(faultInForwardedEntry(payload.with(1, 16))).toMatch(/malformed/);
      expect(() => new CatalogHost().applyPayload(payload.with(0, 4))).toThrow(DatabaseError);
    }
  });
});

it('a key that limits databases is stored like other keys', async () => {
  const key = keyOf(1, { grants: [{ role: 'admin', databases: 'acme-*', databasesMax: 10 }] });
  const payload = encodeCatalogEntry(keep(key));
  expect(faultInForwardedEntry(payload)).toBeUndefined();
  const host = new CatalogHost();
  expect(host.applyPayload(payload)).toEqual({ kind: 'key-kept', key });
  await host.flush();
  expect(host.open().apiKeys()).toEqual([key]);
});

describe('the encoding of a key (M13)', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'ß', '-', '€'), minLength: 1, maxLength: 20 });
  const time = fc.nat(2_000_000_000_000).map((ms) => ms || 1);
  const databases = fc.string({ unit: fc.constantFrom('a', '*', '-', '7'), minLength: 1, maxLength: 20 });
  const databasesMax = fc.integer({ min: 1, max: 1_000_000 });
  const grant: fc.Arbitrary<Grant> = fc.oneof(
    fc.record({ role: fc.constantFrom(...ROLES), databases }),
    fc.record({ role: fc.constant('admin' as const), databases, databasesMax }),
  );
  const secret = fc.record({
    hash: fc.uint8Array({ minLength: 32, maxLength: 32 }),
    createdAtMs: time,
    expiresAtMs: fc.option(time, { nil: undefined }),
  });
  const id = fc.uint8Array({ minLength: 8, maxLength: 8 }).map((bytes) => Buffer.from(bytes).toString('hex'));
  const key: fc.Arbitrary<ApiKey> = fc.record({
    id,
    version: fc.integer({ min: 1, max: 2 ** 40 }),
    name: text,
    grants: fc.array(grant, { maxLength: 32 }),
    createdAtMs: time,
    createdBy: text,
    expiresAtMs: fc.option(time, { nil: undefined }),
    secrets: fc.array(secret, { minLength: 1, maxLength: 2 }),
  });
  const token: fc.Arbitrary<ApiKey> = fc
    .tuple(key, time, fc.option(id, { nil: undefined }))
    .map(([each, expiresAtMs, keyId]) => ({ ...each, expiresAtMs, token: { keyId } }));
  const bytesOf = (each: ApiKey): Uint8Array => {
    const writer = new ByteWriter();
    API_KEY.write(writer, each);
    return writer.take();
  };
  /** The key that the bytes begin with; undefined when they are none. */
  const keyIn = (reader: ByteReader): ApiKey | undefined => {
    const each = API_KEY.read(reader);
    return reader.failed ? undefined : each;
  };

  it('is decoded to the key, and all bytes that decode are what encoding returns', () => {
    fc.assert(
      fc.property(fc.oneof(key, token), fc.nat(), fc.nat(255), (each, place, byte) => {
        const bytes = bytesOf(each);
        expect(keyIn(new ByteReader(bytes))).toEqual(each);
        const changed = bytes.with(place % bytes.length, byte);
        const reader = new ByteReader(changed);
        const read = keyIn(reader);
        if (read === undefined || reader.left > 0) return;
        const again = bytesOf(read);
        if (!Buffer.from(again).equals(Buffer.from(changed))) throw new Error('another form of a key was read');
      }),
      { numRuns: runs(2000) },
    );
  });

  it.each([
    ['a name with a line break', { name: 'a\nb' }],
    ['an empty name', { name: '' }],
    ['no issuer', { createdBy: '' }],
    ['a token that does not expire', { token: { keyId: undefined } }],
    ['no version', { version: 0 }],
    ['no secret', { secrets: [] }],
    ['three secrets', { secrets: [1, 2, 3].flatMap((byte) => keyOf(byte).secrets) }],
    ['a time after the year 9999', { createdAtMs: 253_402_300_800_000 }],
    ['an invalid pattern', { grants: [{ role: 'reader', databases: 'Shop' }] as const }],
    ['a reader with a limit of databases', { grants: [{ role: 'reader', databases: '*', databasesMax: 1 }] as const }],
    ['a limit of zero databases', { grants: [{ role: 'admin', databases: '*', databasesMax: 0 }] as const }],
    ['33 grants', { grants: Array.from({ length: 33 }, () => ({ role: 'reader', databases: '*' }) as const) }],
  ])('does not decode with %s', (_what, more) => {
    expect(keyIn(new ByteReader(bytesOf(keyOf(1, more))))).toBeUndefined();
  });
});

// Goal: the entries that define components are encoded and decoded, are stamped in place, and other bytes are rejected.
// Method: one of each kind encoded and decoded; a table of rejected entries; changed and random bytes.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  BLOB_PART_BYTES,
  type ComponentReference,
  type DefinitionEntry,
  decodeDefinitionEntry,
  encodeDefinitionEntry,
  isComponentDigest,
  partCountOf,
  stampDefinitionEntry,
  toVersionNumber,
} from '#model';
import { componentName } from '../../support/definitions.ts';

function blobOf(size: number): ComponentReference {
  const digest = '0f'.repeat(32);
  if (!isComponentDigest(digest)) throw new Error(digest);
  return { digest, size };
}

const name = componentName('open');
const version = toVersionNumber(7);
const OF_INACTIVE: readonly DefinitionEntry[] = [
  {
    kind: 'define',
    blob: blobOf(3),
    definition: { kind: 'state-change', name, description: 'd', sourceCodeUri: undefined, stateViews: [name] },
    isInactive: true,
  },
  { kind: 'delete', component: 'presenter', name, version, onlyInactive: true },
];
const ENTRIES: readonly DefinitionEntry[] = [
  { kind: 'part', blob: blobOf(3), part: 0, bytes: new Uint8Array([1, 2, 3]) },
  { kind: 'part', blob: blobOf(BLOB_PART_BYTES + 2), part: 1, bytes: new Uint8Array([1, 2]) },
  {
    kind: 'define',
    blob: blobOf(3),
    definition: { kind: 'state-change', name, description: 'd', sourceCodeUri: undefined, stateViews: [name] },
    isInactive: false,
  },
  { kind: 'set-status', component: 'state-view', name, version, status: { active: false, mode: 'scheduled' } },
  { kind: 'delete', component: 'presenter', name, version, onlyInactive: false },
  { kind: 'delete', component: 'state-change', name, version: undefined, onlyInactive: false },
  { kind: 'expire', name },
];

describe('an entry of a definition', () => {
  it.each([...ENTRIES, ...OF_INACTIVE])('is decoded with the stamped time: $kind', (entry) => {
    const payload = encodeDefinitionEntry(entry);
    stampDefinitionEntry(payload, 1_767_225_600_123);
    expect(decodeDefinitionEntry(payload)).toStrictEqual({ recordedTimeMs: 1_767_225_600_123, entry });
  });

  it.each(ENTRIES)('has format 1, which is its feature level, and does not decode as another: $kind', (entry) => {
    const payload = encodeDefinitionEntry(entry);
    expect(payload[0]).toBe(1);
    expect(decodeDefinitionEntry(payload.with(0, 2))).toBeUndefined();
  });

  it.each([...ENTRIES, ...OF_INACTIVE])('does not decode when a byte is missing or added: $kind', (entry) => {
    const payload = encodeDefinitionEntry(entry);
    expect(decodeDefinitionEntry(payload.subarray(0, -1))).toBeUndefined();
    expect(decodeDefinitionEntry(new Uint8Array([...payload, 0]))).toBeUndefined();
  });

  it('is decoded from any bytes without an exception', () => {
    const whole = [...ENTRIES, ...OF_INACTIVE].filter(({ kind }) => kind !== 'part');
    const changed = fc.tuple(fc.constantFrom(...whole), fc.nat(), fc.nat(255)).map(([entry, place, byte]) => {
      const payload = encodeDefinitionEntry(entry);
      payload[place % payload.length] = byte;
      return payload;
    });
    fc.assert(
      fc.property(fc.oneof(changed, fc.uint8Array({ maxLength: 80 })), (payload) => {
        const read = decodeDefinitionEntry(payload);
        const again = read === undefined ? undefined : decodeDefinitionEntry(encodeDefinitionEntry(read.entry));
        expect(again?.entry).toStrictEqual(read?.entry);
      }),
    );
  });

  const part = (size: number, at: number, bytes: number): DefinitionEntry => {
    return { kind: 'part', blob: blobOf(size), part: at, bytes: new Uint8Array(bytes) };
  };
  const change = { kind: 'state-change', name, description: 'd', sourceCodeUri: undefined, stateViews: [] } as const;
  it.each<[string, DefinitionEntry]>([
    ['a part behind the last', part(3, 1, 3)],
    ['an empty part behind the last', part(BLOB_PART_BYTES, 1, 0)],
    ['a part that is too short', part(3, 0, 2)],
    ['a first part of many that is too short', part(BLOB_PART_BYTES + 1, 0, 1)],
    ['a component without bytes', part(0, 0, 0)],
    [
      'a component that is too large',
      { kind: 'define', blob: blobOf(2 ** 26 + 1), definition: change, isInactive: false },
    ],
    [
      'a long text',
      { kind: 'define', blob: blobOf(1), definition: { ...change, description: 'x'.repeat(4097) }, isInactive: false },
    ],
  ])('does not decode with %s', (_what, entry) => {
    expect(decodeDefinitionEntry(encodeDefinitionEntry(entry))).toBeUndefined();
  });
});

it.each([
  [1, 1],
  [BLOB_PART_BYTES, 1],
  [BLOB_PART_BYTES + 1, 2],
])('a component of %d bytes has %d parts', (size, parts) => {
  expect(partCountOf(blobOf(size))).toBe(parts);
});

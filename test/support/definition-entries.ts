/** Random log entries about definitions, with few names and small components, so that they often conflict. */
import * as fc from 'fast-check';
import {
  BLOB_PART_BYTES,
  type ComponentReference,
  type Definition,
  type DefinitionEntry,
  encodeDefinitionEntry,
  isComponentDigest,
  MAINTENANCE_MODES,
  partCountOf,
  stampDefinitionEntry,
  toVersionNumber,
} from '#model';
import { arbDefinition, componentName } from './definitions.ts';

export function blobOf(letter: string, size: number): ComponentReference {
  const digest: string = letter.repeat(64);
  if (!isComponentDigest(digest)) throw new Error(`no digest: ${digest}`);
  return { digest, size };
}

/** A part of a component; each component has different bytes. */
export function partOf(blob: ComponentReference, part: number): DefinitionEntry {
  const size = part < partCountOf(blob) - 1 ? BLOB_PART_BYTES : blob.size - part * BLOB_PART_BYTES;
  return { kind: 'part', blob, part, bytes: new Uint8Array(size).fill(blob.digest.charCodeAt(0) + part) };
}

export const SMALL_BLOBS: readonly ComponentReference[] = ['a', 'b', 'c', 'd', 'e', 'f'].map((letter, at) =>
  blobOf(letter, 1 + 40 * at),
);

export const DEFINITIONS: readonly Definition[] = fc
  .sample(arbDefinition, { seed: 96, numRuns: 10 })
  .map((definition, at) => ({ ...definition, name: componentName(at % 3 === 0 ? 'B_1' : 'A') }));

const arbTitle = fc.constantFrom(...DEFINITIONS).map(({ kind: component, name }) => ({ component, name }));
const arbVersion = fc.integer({ min: 1, max: 3 }).map(toVersionNumber);
const arbBlob = fc.constantFrom(...SMALL_BLOBS);

/** The same entry for an inactive version; entries of other kinds are unchanged. */
export function ofInactive(entry: DefinitionEntry): DefinitionEntry {
  if (entry.kind === 'define') return { ...entry, isInactive: true };
  return entry.kind === 'delete' ? { ...entry, onlyInactive: true } : entry;
}

/** Adds entries about inactive versions. */
export function withInactive(entries: fc.Arbitrary<DefinitionEntry>): fc.Arbitrary<DefinitionEntry> {
  return fc.tuple(entries, fc.boolean()).map(([entry, isInactive]) => (isInactive ? ofInactive(entry) : entry));
}

export const arbStatus: fc.Arbitrary<DefinitionEntry> = fc
  .tuple(arbTitle, arbVersion, fc.boolean(), fc.constantFrom(...MAINTENANCE_MODES))
  .map(([title, version, active, mode]) => ({ kind: 'set-status', ...title, version, status: { active, mode } }));

export const arbDeletion: fc.Arbitrary<DefinitionEntry> = fc
  .tuple(arbTitle, fc.option(arbVersion, { nil: undefined }))
  .map(([title, version]) => ({ kind: 'delete', ...title, version, onlyInactive: false }));

export const arbExpiry: fc.Arbitrary<DefinitionEntry> = arbTitle.map(({ name }) => ({ kind: 'expire', name }));

const arbEntry: fc.Arbitrary<DefinitionEntry> = fc.oneof(
  { weight: 5, arbitrary: arbBlob.map((blob) => partOf(blob, 0)) },
  {
    weight: 5,
    arbitrary: fc
      .tuple(arbBlob, fc.constantFrom(...DEFINITIONS))
      .map(([blob, definition]) => ({ kind: 'define' as const, blob, definition, isInactive: false })),
  },
  arbStatus,
  { weight: 2, arbitrary: arbDeletion },
  arbExpiry,
);

export function stamped(entry: DefinitionEntry, timeMs: number): Uint8Array {
  const payload = encodeDefinitionEntry(entry);
  stampDefinitionEntry(payload, timeMs);
  return payload;
}

/** Payloads with a timestamp. */
export const arbDefining: fc.Arbitrary<Uint8Array> = withInactive(arbEntry).map((entry) =>
  stamped(entry, 1_700_000_000_500),
);

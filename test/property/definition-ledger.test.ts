// Goal: each entry of the ledger has the effect that a naive evaluation of the whole history has (D22). Method: random
// entries with few names and parts, and small limits; an oracle with a list.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toRevision } from '#base';
import { DefinitionLedger } from '#database';
import { BLOB_PART_BYTES, type ComponentReference, type DefinitionEntry } from '#model';
import {
  arbDeletion,
  arbExpiry,
  arbStatus,
  blobOf,
  DEFINITIONS,
  stamped,
  withInactive,
} from '../support/definition-entries.ts';
import { NaiveLedger } from '../support/naive-ledger.ts';
import { runs } from '../support/runs.ts';

const RUNS = { numRuns: runs(150) };
const LIMITS = { versionsMax: 5, namesMax: 4, unnamedMax: 2 };

/** Two components of one part and one of two; and some with the same digests but other sizes. */
const BLOBS: readonly ComponentReference[] = [blobOf('a', 1), blobOf('b', 2), blobOf('c', BLOB_PART_BYTES + 1)];
const LIARS = [blobOf('a', 2), blobOf('c', BLOB_PART_BYTES + 2)];

const arbBlob = fc.constantFrom(...BLOBS, ...BLOBS, ...LIARS);
const arbPart = fc.record({ blob: arbBlob, part: fc.nat(1) }).map(({ blob, part }): DefinitionEntry => {
  const isFirst = part === 0 || blob.size <= BLOB_PART_BYTES;
  const bytes = new Uint8Array(isFirst ? Math.min(blob.size, BLOB_PART_BYTES) : blob.size - BLOB_PART_BYTES);
  return { kind: 'part', blob, part: isFirst ? 0 : part, bytes };
});

const arbEntry: fc.Arbitrary<DefinitionEntry> = withInactive(
  fc.oneof(
    { weight: 4, arbitrary: arbPart },
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant('define' as const),
        isInactive: fc.constant(false),
        blob: arbBlob,
        definition: fc.constantFrom(...DEFINITIONS),
      }),
    },
    arbStatus,
    arbDeletion,
    arbExpiry,
  ),
);

interface Step {
  readonly entry: DefinitionEntry;
  readonly revision: ReturnType<typeof toRevision>;
  readonly payload: Uint8Array;
}

/** Entries between transactions: the revision rises from time to time. */
const arbSteps: fc.Arbitrary<readonly Step[]> = fc
  .array(fc.record({ entry: arbEntry, raised: fc.nat(2) }), { minLength: 20, maxLength: 60, size: 'max' })
  .map((entries) => {
    let revision = 0;
    return entries.map(({ entry, raised }, at) => {
      revision += raised;
      return {
        entry,
        payload: stamped(entry, 1000 + at),
        revision: toRevision(revision),
      };
    });
  });

const LATEST = toRevision(Number.MAX_SAFE_INTEGER);

describe('a ledger of definitions (D22)', () => {
  it('gives every entry the outcome of a naive evaluation of the history, and lists the same at every revision', () => {
    fc.assert(
      fc.property(arbSteps, (steps) => {
        const ledger = new DefinitionLedger(LIMITS);
        const naive = new NaiveLedger(LIMITS);
        const found = steps.map((step) => ledger.apply(step.payload, step.revision));
        const expected = steps.map(({ entry, revision }, at) => naive.apply(entry, revision, 1000 + at));
        const revisions = [0, 1, 5, 20].map(toRevision).concat(LATEST);
        expect(found).toEqual(expected);
        expect(revisions.map((revision) => ledger.list(revision))).toEqual(
          revisions.map((revision) => naive.list(revision)),
        );
        expect(BLOBS.map(({ digest }) => ledger.partsOf(digest))).toEqual(
          BLOBS.map(({ digest }) => naive.partsOf(digest)),
        );
      }),
      RUNS,
    );
  });
});

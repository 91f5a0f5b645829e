/**
 * The definitions of a database as its rows have them: the ledger made anew from the records, and whether records and
 * parts of components are whole.
 *
 * ```
 *   applied row ──► last record ──► the one before ──► … ──► the first       found by gets, applied the other way round
 * ```
 * Records name the one before, so that a machine is opened without waiting, and a database in which nothing was ever
 * defined pays for none of it. Part rows go in the batch of the entry that removes their component.
 */
import { assert, compareBytes, type LogIndex, toHex, toLogIndex } from '#base';
import type { ComponentDigest } from '#model';
import { type Applied, type DefinitionMark, NO_DEFINITIONS } from './applied.ts';
import { isFaultOfRow, unexpectedRow } from './corruption.ts';
import { DefinitionLedger, isChange } from './definition-ledger.ts';
import {
  digestBytes,
  hasBytes,
  type ReadRecord,
  readComponentPart,
  readDefinitionRecord,
} from './definition-record.ts';
import { indexOfDefinition } from './keys.ts';
import type { DatabaseReader } from './reader.ts';
import type { HistoryCheck } from './verify.ts';
import { slices } from './walks.ts';

/** The record of the entry. Throws when there is none, or when it is corrupt. */
export function recordAt(reader: DatabaseReader, index: number): ReadRecord {
  const key = reader.keys.definition(index);
  const value = reader.source.kv.get(key);
  if (value === undefined) throw unexpectedRow(key, 'a record of a definition is missing');
  return readDefinitionRecord(key, value, index);
}

/** The records behind `after` up to the mark, in log order. */
export function recordsBehind(reader: DatabaseReader, mark: DefinitionMark, after: number): readonly ReadRecord[] {
  const records: ReadRecord[] = [];
  for (let { index } = mark; index > after; ) {
    const record = recordAt(reader, index);
    records.push(record);
    index = record.before;
  }
  return records.toReversed();
}

/** Made anew from all records. Throws when they do not lead to the mark. */
export function loadLedger(reader: DatabaseReader, mark: DefinitionMark): DefinitionLedger {
  const ledger = new DefinitionLedger(reader.source.sha256);
  for (const record of recordsBehind(reader, mark, 0)) takeRecord(reader, ledger, record);
  checkLedger(reader, ledger, mark);
  return ledger;
}

/** Brings a ledger one record further. Throws when it does not say what the record says. */
export function takeRecord(reader: DatabaseReader, ledger: DefinitionLedger, record: ReadRecord): void {
  const { place, revision, payloadHash, chainHash, timed } = record;
  const outcome = ledger.take({ ...timed, payloadHash }, { index: place.index, revision });
  if (isChange(outcome) && compareBytes(ledger.chainHash, chainHash) === 0) return;
  throw unexpectedRow(reader.keys.definition(place.index), 'its chain hash does not follow from the records before');
}

/** Throws when the ledger is not the one of the mark. */
export function checkLedger(reader: DatabaseReader, ledger: DefinitionLedger, mark: DefinitionMark): void {
  if (mark.index === 0 || compareBytes(ledger.chainHash, mark.chainHash) === 0) return;
  throw unexpectedRow(reader.keys.definition(mark.index), 'its chain hash is not that of the applied row');
}

/** The bytes of a part: a view into its row. Undefined when it is not here (any more, or again). */
export function componentPart(reader: DatabaseReader, digest: ComponentDigest, part: number): Uint8Array | undefined {
  const key = reader.keys.componentPart(digestBytes(digest), part);
  const value = reader.source.kv.get(key);
  return value === undefined ? undefined : readComponentPart(key, value);
}

/** The keys of all parts that are here. */
export async function partKeys(reader: DatabaseReader): Promise<ReadonlySet<string>> {
  const held = new Set<string>();
  for await (const rows of slices(reader.source.kv.range({ ...reader.keys.components(), values: false }))) {
    for (const { key } of rows) held.add(toHex(key));
  }
  return held;
}

/** The keys of the parts that the ledger counts on. */
export function partKeysOf(reader: DatabaseReader, ledger: DefinitionLedger): ReadonlySet<string> {
  const blobs = ledger.blobs().map(({ digest, partCount }) => ({ digest: digestBytes(digest), partCount }));
  return new Set(
    blobs.flatMap(({ digest, partCount }) =>
      Array.from({ length: partCount }, (_, part) => toHex(reader.keys.componentPart(digest, part))),
    ),
  );
}

/**
 * Whether the records lead to the applied row, and every part that came behind the durable entry is here: what a node
 * asks after a crash (D11). Each batch that changed a definition holds a record, so a batch that is missing shows.
 */
export async function verifyDefinitions(reader: DatabaseReader, durableIndex: LogIndex): Promise<HistoryCheck> {
  const applied = reader.applied();
  assert(applied !== undefined, 'What is verified has an applied row');
  if (applied.definitions.index <= durableIndex) return { kind: 'whole' };
  try {
    const ledger = loadLedger(reader, applied.definitions);
    const began = new Map(ledger.blobs().map(({ digest, beganAt }) => [digest, beganAt]));
    for (const record of recordsBehind(reader, applied.definitions, durableIndex)) {
      const { entry } = record.timed;
      if (entry.kind !== 'part' || (began.get(entry.blob.digest) ?? Number.POSITIVE_INFINITY) > record.place.index)
        continue;
      const bytes = componentPart(reader, entry.blob.digest, entry.part);
      const isWhole = bytes !== undefined && hasBytes(reader.source.sha256, record, bytes);
      if (!isWhole) return broken(applied, `part ${entry.part} of the component ${entry.blob.digest} is not whole`);
    }
    return { kind: 'whole' };
  } catch (error) {
    if (!isFaultOfRow(error)) throw error;
    return broken(applied, error.message);
  }
}

/** How far the definitions were at an entry of the log: of rows that were perhaps not all written. */
export async function definitionsUpTo(reader: DatabaseReader, index: LogIndex): Promise<DefinitionMark> {
  const range = reader.source.kv.range({
    ...reader.keys.definitions(0, index + 1),
    reverse: true,
    limit: 1,
    values: false,
  });
  const [row] = await range.next(1);
  await range.close();
  if (row === undefined) return NO_DEFINITIONS;
  const at = indexOfDefinition(row.key);
  return { index: toLogIndex(at), chainHash: recordAt(reader, at).chainHash };
}

function broken({ revision }: Applied, fault: string): HistoryCheck {
  return { kind: 'broken', revision, fault };
}

/**
 * The one writer of the rows of definitions: takes entries as they are applied, or records of another replica, and
 * keeps what they change until the next flush.
 *
 *   D23  The row of a definition, the parts that came or went with it and the applied row that names it are one batch. A
 *        part is missing only where its component was removed by an entry that is not applied here yet.
 */
import { assert, ByteWriter, compareBytes, type Revision, type Term } from '#base';
import type { KvBatch } from '#kv';
import { decodeDefinitionEntry, splitDefinitionPayload } from '#model';
import { type DefinitionMark, NO_DEFINITIONS } from './applied.ts';
import {
  type DefinitionLedger,
  type DefinitionOutcome,
  isChange,
  type LedgerPlace,
  type RemovedBlob,
} from './definition-ledger.ts';
import {
  type DefinitionRecord,
  digestBytes,
  type ReadRecord,
  writeComponentPart,
  writeDefinitionRecord,
} from './definition-record.ts';
import type { DatabaseReader } from './reader.ts';
import { loadLedger } from './stored-definitions.ts';

/** A record of another replica that was checked, with the bytes of its part if that replica has them. */
export interface CheckedRecord {
  readonly kind: 'record';
  readonly record: ReadRecord;
  readonly bytes: Uint8Array;
}

interface PendingRow {
  readonly key: Uint8Array;
  /** Undefined: it goes. */
  readonly value: Uint8Array | undefined;
}

export class DefinitionJournal {
  readonly #reader: DatabaseReader;
  readonly #ledger: DefinitionLedger;
  #mark: DefinitionMark;
  #pending: PendingRow[] = [];

  /** As the rows of the mark have them. */
  constructor(reader: DatabaseReader, mark: DefinitionMark = NO_DEFINITIONS) {
    this.#reader = reader;
    this.#ledger = loadLedger(reader, mark);
    this.#mark = mark;
  }

  get mark(): DefinitionMark {
    return this.#mark;
  }

  /** Throws for a payload that is no entry of a definition: guessing would make replicas differ. */
  apply(payload: Uint8Array, { index, term, revision }: LedgerPlace & { readonly term: Term }): DefinitionOutcome {
    const timed = decodeDefinitionEntry(payload);
    assert(timed !== undefined, 'An entry of a definition is one that this release knows', payload.subarray(0, 2));
    const payloadHash = this.#reader.source.sha256([payload]);
    const outcome = this.#ledger.take({ ...timed, payloadHash }, { index, revision });
    if (!isChange(outcome)) return outcome;
    const { head, bytes } = splitDefinitionPayload(payload, timed.entry);
    const { chainHash } = this.#ledger;
    this.#note({ place: { index, term }, revision, before: this.#mark.index, head, payloadHash, chainHash }, outcome);
    if (timed.entry.kind === 'part') this.#putPart(timed.entry, bytes);
    return outcome;
  }

  /** Takes a record of another replica over; what is here already is passed over. Whether it changed anything. */
  install({ record, bytes }: CheckedRecord, revision: Revision): boolean {
    const { place, payloadHash, timed } = record;
    if (place.index <= this.#mark.index) return false;
    assert(record.before === this.#mark.index, 'Records that are taken over have no gap', [this.#mark.index, place]);
    assert(record.revision === revision, 'A record stands where it stood in the log', [record.revision, revision]);
    const outcome = this.#ledger.take({ ...timed, payloadHash }, { index: place.index, revision });
    const isSame = isChange(outcome) && compareBytes(this.#ledger.chainHash, record.chainHash) === 0;
    assert(isSame, 'What is taken over was checked before', place);
    this.#note(record, outcome);
    if (timed.entry.kind === 'part' && bytes.length > 0) this.#putPart(timed.entry, bytes);
    return true;
  }

  flushInto(batch: KvBatch): void {
    for (const { key, value } of this.#pending) {
      if (value === undefined) batch.del(key);
      else batch.put(key, value);
    }
    this.#pending = [];
  }

  #note(record: DefinitionRecord, outcome: DefinitionOutcome): void {
    const { keys } = this.#reader;
    const row = new ByteWriter();
    writeDefinitionRecord(row, record);
    this.#pending.push({ key: keys.definition(record.place.index).slice(), value: row.take() });
    this.#mark = { index: record.place.index, chainHash: record.chainHash };
    for (const { digest, partCount } of removedBy(outcome)) {
      for (let part = 0; part < partCount; part++) {
        this.#pending.push({ key: keys.componentPart(digestBytes(digest), part).slice(), value: undefined });
      }
    }
  }

  #putPart({ blob, part }: PartEntry, bytes: Uint8Array): void {
    const row = new ByteWriter(bytes.length + ROW_BYTES);
    writeComponentPart(row, bytes);
    const key = this.#reader.keys.componentPart(digestBytes(blob.digest), part).slice();
    this.#pending.push({ key, value: row.take() });
  }
}

type PartEntry = Extract<ReadRecord['timed']['entry'], { readonly kind: 'part' }>;

/** Format and checksum. */
const ROW_BYTES = 5;
const NOTHING: readonly RemovedBlob[] = [];

function removedBy(outcome: DefinitionOutcome): readonly RemovedBlob[] {
  return outcome.kind === 'part-taken' || outcome.kind === 'deleted' ? outcome.removed : NOTHING;
}

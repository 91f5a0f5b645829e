/**
 * The history of a database for a replica that has less of it, in parts.
 *
 * It goes up to the applied row as it is when the export begins. That is a consistent mark without a snapshot of the
 * store: records never change, and what is written later lies behind the mark (D3, D7). Each names its entry in the
 * log, so that every part ends at a place of its own (D16). Definitions and refusals go between them, in log order
 * (D23). The parts of a component may be removed meanwhile, by an entry that lies above the mark: then its record goes
 * alone.
 */
import { ByteWriter, compareBytes, NO_BYTES, toHex } from '#base';
import { type Applied, NO_DEFINITIONS } from './applied.ts';
import type { GroupMark } from './applied-state.ts';
import { chainHashOf } from './compare-history.ts';
import { sealRow, unexpectedRow } from './corruption.ts';
import type { DefinitionLedger } from './definition-ledger.ts';
import { digestBytes, type ReadRecord, writeDefinitionRecord } from './definition-record.ts';
import { decodeStanding, SENT_DEFINITION, SENT_REFUSAL, type Standing } from './history-import.ts';
import { DatabaseReader, type DatabaseSource, type HistorySlice } from './reader.ts';
import type { LogPlace } from './record.ts';
import { componentPart, loadLedger, partKeys, partKeysOf, recordAt, recordsBehind } from './stored-definitions.ts';
import { refusalsBehind, type StoredRefusal } from './stored-refusals.ts';
import { RECORD_BYTES_PER_WAIT } from './walks.ts';

/** Whole records, definitions and refusals; none where there is nothing left but to say how far the log has come. */
export interface HistoryPart {
  readonly data: Uint8Array;
  /** Where in the log a replica that has taken it over stands. */
  readonly last: LogPlace;
  readonly isLast: boolean;
}

/** What is sent in one piece. */
interface SentUnit {
  readonly place: LogPlace;
  readonly bytes: Uint8Array;
}

/** What is left to send. */
interface Left {
  /** Position of the next record. */
  readonly at: number;
  /** The entries of definitions. */
  readonly records: readonly number[];
  /** Kept refusals: their rows may have gone meanwhile. */
  readonly refusals: readonly StoredRefusal[];
}

export class HistoryExport {
  readonly #reader: DatabaseReader;
  readonly #mark: Applied;
  #slice: HistorySlice;
  /** Position of the next record, and its place in the slice. */
  #at: number;
  #place = 0;
  #records: readonly number[];
  #refusals: readonly StoredRefusal[];
  /** The next definition or refusal as it is sent. */
  #encoded: SentUnit | undefined;

  /**
   * Begins with the next revision of a replica that stands there. The failure, as text: that history is not a beginning
   * of this one.
   */
  static open(source: DatabaseSource, standing: Uint8Array): HistoryExport | string {
    const reader = new DatabaseReader(source, { lends: true });
    const mark = reader.applied();
    if (mark === undefined) throw unexpectedRow(reader.keys.applied(), 'the applied row is missing');
    const from = decodeStanding(standing);
    if (from === undefined) return 'it does not say where it stands';
    // A replica that has more than this one needs nothing of it, and there is nothing to compare.
    if (from.revision > mark.revision)
      return new HistoryExport(reader, mark, { at: mark.end, records: [], refusals: [] });
    const here = chainHashOf(reader, mark, from.revision);
    if (compareBytes(here, from.chainHash) !== 0) {
      return `its revision ${from.revision} has the chain hash ${toHex(from.chainHash)}, and ${toHex(here)} here`;
    }
    const records = recordsFor(reader, mark, from);
    if (typeof records === 'string') return records;
    const at = from.revision === mark.revision ? mark.end : reader.start(from.revision + 1);
    const refusals = refusalsBehind(reader, mark.refusals, from.refusals?.index ?? 0);
    return new HistoryExport(reader, mark, { at, records, refusals });
  }

  private constructor(reader: DatabaseReader, mark: Applied, { at, records, refusals }: Left) {
    this.#reader = reader;
    this.#mark = mark;
    this.#at = at;
    this.#slice = { transactions: [], bytes: NO_BYTES, end: at };
    this.#records = records;
    this.#refusals = refusals;
  }

  /** Who belongs to the group as of the mark. */
  get group(): GroupMark {
    return this.#mark.group;
  }

  /**
   * Why components cannot be had from here, as text: one that is counted on is not whole. It was taken back to a
   * checkpoint then, and what removes the component is not applied again yet. To be asked before the first part.
   */
  async faultInComponents(): Promise<string | undefined> {
    if (this.#records.length === 0) return undefined;
    const held = await partKeys(this.#reader);
    const isMissing = [...partKeysOf(this.#reader, this.#ledgerOfNow())].some((key) => !held.has(key));
    return isMissing ? 'a component that its definitions name is not whole here yet' : undefined;
  }

  /** The next part, of about so many bytes, or of one unit. Not called again after the last one. */
  async next(bytesMax: number): Promise<HistoryPart> {
    const writer = new ByteWriter(bytesMax);
    const { index, term } = this.#mark;
    let last: LogPlace = { index, term };
    for (;;) {
      if (this.#at === this.#slice.end && this.#at < this.#mark.end) await this.#read();
      const unit = this.#peek();
      if (unit === undefined) return { data: sealed(writer), last: { index, term }, isLast: true };
      if (writer.length > 0 && writer.length + unit.bytes.length > bytesMax) break;
      writer.bytes(unit.bytes);
      last = unit.place;
      this.#drop(unit);
    }
    return { data: sealed(writer), last, isLast: false };
  }

  async #read(): Promise<void> {
    this.#reader.release();
    this.#slice = await this.#reader.slice({ from: this.#at, to: this.#mark.end }, RECORD_BYTES_PER_WAIT);
    this.#place = 0;
  }

  /** What comes next in the log; undefined at the end. */
  #peek(): SentUnit | undefined {
    const transaction = this.#slice.transactions[this.#place];
    const [record = Number.POSITIVE_INFINITY] = this.#records;
    const [refused] = this.#refusals;
    const refusedIndex = refused?.refusal.place.index ?? Number.POSITIVE_INFINITY;
    const between = Math.min(record, refusedIndex);
    if (transaction !== undefined && transaction.place.index < between) {
      const { bytes, end } = this.#slice;
      const from = this.#at - (end - bytes.length);
      return { place: transaction.place, bytes: bytes.subarray(from, from + transaction.end - this.#at) };
    }
    if (between === Number.POSITIVE_INFINITY) return undefined;
    this.#encoded ??= refused === undefined || record < refusedIndex ? this.#definition(record) : refusal(refused);
    return this.#encoded;
  }

  #drop(unit: SentUnit): void {
    if (unit !== this.#encoded) {
      this.#at += unit.bytes.length;
      this.#place++;
      return;
    }
    this.#encoded = undefined;
    if (unit.bytes[0] === SENT_REFUSAL) this.#refusals = this.#refusals.slice(1);
    else this.#records = this.#records.slice(1);
  }

  #definition(index: number): SentUnit {
    const record = recordAt(this.#reader, index);
    const [row, unit] = [new ByteWriter(), new ByteWriter()];
    writeDefinitionRecord(row, record);
    const bytes = this.#partOf(record);
    unit.u8(SENT_DEFINITION);
    unit.varint(index);
    unit.varint(row.length);
    unit.bytes(row.view());
    unit.varint(bytes.length);
    unit.bytes(bytes);
    return { place: record.place, bytes: unit.take() };
  }

  /** None where the component was removed by now: whoever counts on it at the mark hears why by the log. */
  #partOf({ timed: { entry }, place }: ReadRecord): Uint8Array {
    if (entry.kind !== 'part') return NO_BYTES;
    const { digest } = entry.blob;
    const bytes = componentPart(this.#reader, digest, entry.part);
    const isCounted = (): boolean =>
      this.#ledgerOfNow()
        .blobs()
        .some((blob) => blob.digest === digest && blob.beganAt <= place.index);
    if (bytes === undefined && isCounted()) {
      const key = this.#reader.keys.componentPart(digestBytes(digest), entry.part);
      throw unexpectedRow(key, 'a part of a component is missing');
    }
    return bytes ?? NO_BYTES;
  }

  #ledgerOfNow(): DefinitionLedger {
    return loadLedger(this.#reader, this.#reader.applied()?.definitions ?? this.#mark.definitions);
  }
}

function sealed(part: ByteWriter): Uint8Array {
  if (part.length > 0) sealRow(part);
  return part.take();
}

function refusal({ refusal: { place }, value }: StoredRefusal): SentUnit {
  const unit = new ByteWriter(value.length + 8);
  unit.u8(SENT_REFUSAL);
  unit.varint(value.length);
  unit.bytes(value);
  return { place, bytes: unit.take() };
}

/** The entries of the records that a replica that stands there lacks. As text: why it is not behind this one. */
function recordsFor(reader: DatabaseReader, mark: Applied, { definitions }: Standing): readonly number[] | string {
  const from = definitions ?? NO_DEFINITIONS;
  const known = recordsBehind(reader, mark.definitions, 0).map(({ place, chainHash }) => ({
    index: place.index,
    chainHash,
  }));
  const last = known.find(({ index }) => index === from.index);
  const isHere = from.index === 0 || (last !== undefined && compareBytes(last.chainHash, from.chainHash) === 0);
  if (!isHere && from.index <= mark.index) return `its definitions go up to entry ${from.index}, and are others here`;
  return known.map(({ index }) => index).filter((index) => index > from.index);
}

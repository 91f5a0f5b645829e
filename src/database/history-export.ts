/**
 * The history of a database for a replica that has less of it: pages above where that one stands, in parts.
 *
 * It goes up to the applied row as it is when the export begins. That is a consistent mark without a snapshot of the
 * store: a page is written once and never changed or merged, batches end where pages end, and what is written later
 * lies above the mark (D3, D7). Pages say where in the log they end, so that every part ends at a place of its own
 * (D16). Records of definitions stand between pages, and go between them (D23). The parts of a component may be removed
 * meanwhile, by an entry that lies above the mark: then its record goes alone.
 */
import { assert, ByteWriter, compareBytes, NO_BYTES, toHex } from '#base';
import { type Applied, NO_DEFINITIONS } from './applied.ts';
import type { GroupMark } from './applied-state.ts';
import { chainHashOf } from './compare-history.ts';
import { unexpectedRow } from './corruption.ts';
import type { DefinitionLedger } from './definition-ledger.ts';
import { digestBytes, type ReadRecord, writeDefinitionRecord } from './definition-record.ts';
import { decodeStanding, type Standing } from './history-import.ts';
import type { LogPlace, Page } from './page.ts';
import { DatabaseReader, type DatabaseSource } from './reader.ts';
import { componentPart, loadLedger, partKeys, partKeysOf, recordAt, recordsBehind } from './stored-definitions.ts';
import { refusalsBehind, type StoredRefusal } from './stored-refusals.ts';

/** Some pages and records, whole ones; none where there is nothing left but to say how far the log has come. */
export interface HistoryPart {
  readonly data: Uint8Array;
  /** Where in the log whoever has taken it over stands. */
  readonly last: LogPlace;
  readonly isLast: boolean;
}

/** Bytes of pages that are read at a time, about. */
const READ_BYTES = 256 * 1024;
const PAGES_PER_READ = 256;

export class HistoryExport {
  readonly #reader: DatabaseReader;
  readonly #mark: Applied;
  /** The first revision of the next page to read. */
  #next: number;
  #pages: readonly Page[] = [];
  #values: readonly Uint8Array[] = [];
  /** The entries of the records that are left, and the next of them as it is sent. */
  #records: readonly number[];
  #record: HistoryUnit | undefined;
  /** Kept refusals that are left: their rows may have gone meanwhile. */
  #refusals: readonly StoredRefusal[];

  /**
   * Begins at the page that holds the next revision of whoever stands there. The failure, as text: that history is not
   * a beginning of this one.
   */
  static open(source: DatabaseSource, standing: Uint8Array): HistoryExport | string {
    const reader = new DatabaseReader(source);
    const mark = reader.applied();
    if (mark === undefined) throw unexpectedRow(reader.keys.applied(), 'the applied row is missing');
    const from = decodeStanding(standing);
    if (from === undefined) return 'it does not say where it stands';
    // Whoever has more than this replica needs nothing of it, and there is nothing to compare.
    if (from.revision > mark.revision)
      return new HistoryExport(reader, mark, { next: mark.revision + 1, records: [], refusals: [] });
    const here = chainHashOf(reader, mark, from.revision);
    if (toHex(here) !== toHex(from.chainHash)) {
      return `its revision ${from.revision} has the chain hash ${toHex(from.chainHash)}, and ${toHex(here)} here`;
    }
    const records = recordsFor(reader, mark, from);
    if (typeof records === 'string') return records;
    const isWhole = from.revision === mark.revision;
    const next = isWhole ? mark.revision + 1 : reader.pageStart(from.revision + 1);
    const refusals = refusalsBehind(reader, mark.refusals, from.refusals?.index ?? 0);
    return new HistoryExport(reader, mark, { next, records, refusals });
  }

  private constructor(
    reader: DatabaseReader,
    mark: Applied,
    left: {
      readonly next: number;
      readonly records: readonly number[];
      readonly refusals: readonly StoredRefusal[];
    },
  ) {
    this.#reader = reader;
    this.#mark = mark;
    this.#next = left.next;
    this.#records = left.records;
    this.#refusals = left.refusals;
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

  /** The next part, of about so many bytes, or of one page or record. Not called again after the last one. */
  async next(bytesMax: number): Promise<HistoryPart> {
    const { revision, index, term } = this.#mark;
    if (this.#pages.length === 0 && this.#next <= revision) await this.#read();
    const writer = new ByteWriter(bytesMax);
    let last: LogPlace = { index, term };
    for (let taken = 0; ; taken += 1) {
      const unit = this.#peek();
      if (unit === undefined || (taken > 0 && writer.length + unit.value.length > bytesMax)) break;
      writeUnit(writer, unit);
      last = unit.last;
      this.#drop(unit);
    }
    const leftCount = this.#pages.length + this.#records.length + this.#refusals.length;
    const isLast = leftCount === 0 && this.#next > revision;
    return { data: writer.take(), last: isLast ? { index, term } : last, isLast };
  }

  /** What comes next in the log; undefined where more pages must be read to know, or nothing is left. */
  #peek(): HistoryUnit | undefined {
    const [page] = this.#pages;
    const [value] = this.#values;
    const [record = Number.POSITIVE_INFINITY] = this.#records;
    const [refused] = this.#refusals;
    const behind = this.#next > this.#mark.revision ? Number.POSITIVE_INFINITY : 0;
    const pageIndex = page?.last.index ?? behind;
    const refusedIndex = refused?.refusal.place.index ?? Number.POSITIVE_INFINITY;
    if (refused !== undefined && refusedIndex < Math.min(record, pageIndex)) {
      return { kind: 'refusal', last: refused.refusal.place, value: refused.value };
    }
    const isRecord = record < pageIndex;
    if (isRecord) this.#record ??= this.#readRecord(record);
    if (isRecord) return this.#record;
    return page === undefined || value === undefined ? undefined : { kind: 'page', last: page.last, value };
  }

  #drop({ kind }: HistoryUnit): void {
    if (kind === 'page') {
      this.#pages = this.#pages.slice(1);
      this.#values = this.#values.slice(1);
    } else if (kind === 'refusal') {
      this.#refusals = this.#refusals.slice(1);
    } else {
      this.#records = this.#records.slice(1);
      this.#record = undefined;
    }
  }

  #readRecord(index: number): HistoryUnit {
    const record = recordAt(this.#reader, index);
    const row = new ByteWriter();
    writeDefinitionRecord(row, record);
    return { kind: 'record', last: record.place, value: row.take(), bytes: this.#partOf(record) };
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

  async #read(): Promise<void> {
    const { source, keys } = this.#reader;
    const bounds = keys.pages(this.#next, this.#mark.revision + 1);
    const range = source.kv.range({ ...bounds, chunkBytes: READ_BYTES, fillCache: false });
    try {
      const rows = await range.next(PAGES_PER_READ);
      this.#pages = rows.map((row) => this.#reader.openPage(row));
      this.#values = rows.map(({ value }) => value);
    } finally {
      await range.close();
    }
    for (const page of this.#pages) {
      if (page.firstRevision > this.#next) throw page.unexpected(`revision ${this.#next} has no page before it`);
      this.#next = page.lastRevision + 1;
    }
    if (this.#pages.length === 0) throw unexpectedRow(keys.page(this.#next), 'the page is missing');
    assert(this.#next <= this.#mark.revision + 1, 'A page ends where its batch does', [
      this.#next,
      this.#mark.revision,
    ]);
  }
}

interface SentPage {
  readonly kind: 'page';
  readonly last: LogPlace;
  readonly value: Uint8Array;
}

interface SentRecord {
  readonly kind: 'record';
  readonly last: LogPlace;
  readonly value: Uint8Array;
  /** Of the part that it is of. */
  readonly bytes: Uint8Array;
}

interface SentRefusal {
  readonly kind: 'refusal';
  readonly last: LogPlace;
  readonly value: Uint8Array;
}

type HistoryUnit = SentPage | SentRecord | SentRefusal;

function writeUnit(writer: ByteWriter, unit: HistoryUnit): void {
  if (unit.kind !== 'page') {
    // No page is empty, and no record is of entry 0.
    writer.u8(0);
    writer.varint(unit.kind === 'record' ? unit.last.index : 0);
  }
  writer.varint(unit.value.length);
  writer.bytes(unit.value);
  if (unit.kind !== 'record') return;
  writer.varint(unit.bytes.length);
  writer.bytes(unit.bytes);
}

/** The entries of the records that whoever stands there lacks. As text: why it is not behind this one. */
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

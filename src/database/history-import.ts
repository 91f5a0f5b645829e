/**
 * The checking of a history that another replica has sent: whether it goes on where this one stands, and is whole.
 *
 * ```
 * standing := varint revision, 32 bytes H(revision), definitions, refusals
 * part     := (varint length, page | u8 0, varint index, varint length, record, varint length, bytes
 *                                  | u8 0, u8 0, varint length, refusal)*
 * ```
 * Definitions are what the applied row says of them, and nothing where it says nothing, but u8 0 where
 * refusals follow: the log index of the last that was kept, nothing where none was. Records, refusals and pages come in
 * log order. Bytes are those of a part, and none where its component was removed since.
 *
 * Nothing is changed here, and what is wrong is said as text: the other replica may be the one that is damaged. A
 * checked part is taken over by `DatabaseMachine.install`.
 */
import { ByteReader, ByteWriter, compareBytes, isLogIndex } from '#base';
import {
  type DefinitionMark,
  NO_DEFINITIONS,
  NO_REFUSALS,
  type RefusalMark,
  readDefinitionMark,
  writeDefinitionMark,
} from './applied.ts';
import { HASH_BYTES } from './applied-state.ts';
import { unexpectedRow } from './corruption.ts';
import type { CheckedRecord } from './definition-journal.ts';
import { DefinitionLedger } from './definition-ledger.ts';
import { hasBytes, readDefinitionRecord } from './definition-record.ts';
import { Page } from './page.ts';
import { DatabaseReader, type DatabaseSource, type StoredTransaction } from './reader.ts';
import { type KeptRefusal, readRefusal } from './refusal-record.ts';

/** A revision and its chain hash: with the same one, two replicas have the same history up to there. */
export interface Standing {
  readonly revision: number;
  readonly chainHash: Uint8Array;
  /** Left out: nothing was ever defined there. */
  readonly definitions?: DefinitionMark | undefined;
  /** Of the last refusal that was kept there. Left out: none was. */
  readonly refusals?: Pick<RefusalMark, 'index'> | undefined;
}

/** A page that is right from end to end. */
export interface CheckedPage {
  readonly kind: 'page';
  readonly page: Page;
  readonly transactions: readonly StoredTransaction[];
}

/** A kept refusal of another replica. */
export interface CheckedRefusal {
  readonly kind: 'refusal';
  readonly refusal: KeptRefusal;
  readonly value: Uint8Array;
}

/** What a part consists of. */
export type HistoryUnit = CheckedPage | CheckedRecord | CheckedRefusal;

export function encodeStanding(standing: Standing): Uint8Array {
  const { revision, chainHash, definitions = NO_DEFINITIONS, refusals = NO_REFUSALS } = standing;
  const writer = new ByteWriter();
  writer.varint(revision);
  writer.bytes(chainHash);
  // A release that knows level 1 alone reads what is written there.
  if (definitions.index > 0) writeDefinitionMark(writer, definitions);
  else if (refusals.index > 0) writer.varint(0);
  if (refusals.index > 0) writer.varint(refusals.index);
  return writer.take();
}

/** Undefined for bytes that are no standing. */
export function decodeStanding(bytes: Uint8Array): Standing | undefined {
  const reader = new ByteReader(bytes);
  const revision = reader.varint();
  const chainHash = reader.bytes(HASH_BYTES).slice();
  const hasNone = reader.left === 0 || bytes[reader.at] === 0;
  if (hasNone) reader.skip(Math.min(1, reader.left));
  const definitions = hasNone ? NO_DEFINITIONS : readDefinitionMark(reader);
  const index = reader.left > 0 ? reader.varint() : 0;
  if (definitions === undefined || reader.failed || reader.left > 0 || !isLogIndex(index)) return undefined;
  return { revision, chainHash, definitions, refusals: { index } };
}

interface WholeStanding extends Standing {
  readonly definitions: DefinitionMark;
  readonly refusals: Pick<RefusalMark, 'index'>;
}

/** Follows the pages of another replica from where this one stands. Total on whatever they are. */
export class HistoryImport {
  readonly #reader: DatabaseReader;
  #revision: number;
  #chainHash: Uint8Array;
  #definitions: DefinitionMark;
  #refusals: Pick<RefusalMark, 'index'>;

  constructor(source: DatabaseSource, standing: Standing) {
    const { revision, chainHash, definitions = NO_DEFINITIONS, refusals = NO_REFUSALS } = standing;
    this.#reader = new DatabaseReader(source);
    this.#definitions = definitions;
    this.#refusals = refusals;
    this.#revision = revision;
    this.#chainHash = chainHash;
  }

  /** Up to where everything was right. */
  get standing(): WholeStanding {
    const [revision, chainHash] = [this.#revision, this.#chainHash];
    return { revision, chainHash, definitions: this.#definitions, refusals: this.#refusals };
  }

  /** What a part consists of, or what is wrong with it; then nothing of it counts. */
  take(part: Uint8Array): readonly HistoryUnit[] | string {
    const before = this.standing;
    const units: HistoryUnit[] = [];
    const reader = new ByteReader(part);
    try {
      while (reader.left > 0 && !reader.failed) units.push(this.#takeUnit(reader));
      if (!reader.failed) return units;
    } catch (error) {
      return this.#back(before, error instanceof Error ? error.message : String(error));
    }
    return this.#back(before, 'it ends inside a page or a record');
  }

  #back({ revision, chainHash, definitions, refusals }: WholeStanding, fault: string): string {
    this.#revision = revision;
    this.#chainHash = chainHash;
    this.#definitions = definitions;
    this.#refusals = refusals;
    return fault;
  }

  #takeUnit(part: ByteReader): HistoryUnit {
    const pageBytes = part.varint();
    if (pageBytes > 0) return this.#takePage(part.bytes(pageBytes));
    const index = part.varint();
    const value = part.bytes(part.varint());
    if (index === 0) return this.#takeRefusal(value);
    return this.#takeRecord(index, value, part.bytes(part.varint()));
  }

  #takeRefusal(value: Uint8Array): CheckedRefusal {
    const key = this.#reader.keys.refusal(0).slice();
    const refusal = readRefusal(key, value);
    const { index } = refusal.place;
    if (index <= this.#refusals.index) {
      throw unexpectedRow(key, `it is of entry ${index}, and ${this.#refusals.index} is the last one here`);
    }
    this.#refusals = { index };
    return { kind: 'refusal', refusal, value };
  }

  #takeRecord(index: number, value: Uint8Array, bytes: Uint8Array): CheckedRecord {
    const { source, keys } = this.#reader;
    const key = keys.definition(index).slice();
    const record = readDefinitionRecord(key, value, index);
    const before = this.#definitions;
    if (record.before !== before.index) {
      throw unexpectedRow(
        key,
        `the record before it is of entry ${record.before}, and ${before.index} is the last one here`,
      );
    }
    if (record.revision !== this.#revision) {
      throw unexpectedRow(key, `it is of revision ${record.revision}, and ${this.#revision} is the last one here`);
    }
    const chainHash = before.index > 0 ? before.chainHash : new DefinitionLedger(source.sha256).chainHash;
    const isNext = compareBytes(source.sha256([chainHash, record.payloadHash]), record.chainHash) === 0;
    if (!isNext) throw unexpectedRow(key, 'other definitions lead to it');
    if (!hasBytes(source.sha256, record, bytes)) throw unexpectedRow(key, 'its content is not what its hash says');
    this.#definitions = { index: record.place.index, chainHash: record.chainHash };
    return { kind: 'record', record, bytes };
  }

  /** Pages end where their writer flushed, so the first one may begin before this replica ends. */
  #takePage(value: Uint8Array): CheckedPage {
    const { source, keys } = this.#reader;
    const page = new Page(keys.page(this.#revision + 1).slice(), value, source.crc32);
    if (page.firstRevision < 1 || page.firstRevision > this.#revision + 1 || page.count === 0) {
      throw page.unexpected(`it begins at revision ${page.firstRevision}, and ${this.#revision} is the last one here`);
    }
    const transactions = this.#reader.transactions(page);
    for (const { revision, bytes, view, chainHash } of transactions) {
      if (revision < this.#revision) continue;
      const { start, end } = view.body;
      const isKnown = revision === this.#revision;
      const expected = isKnown ? this.#chainHash : source.sha256([this.#chainHash, bytes.subarray(start, end)]);
      if (compareBytes(expected, chainHash) !== 0)
        throw page.unexpected(`another history leads to revision ${revision}`);
      this.#revision = revision;
      this.#chainHash = expected;
    }
    return { kind: 'page', page, transactions };
  }
}

/**
 * The checking of a history that another replica has sent: whether it continues where this one stands, and is whole.
 *
 * ```
 * standing   := varint revision, 32 bytes H(revision), definitions, refusals
 * part       := nothing | (record | definition | refusal)*, u32 LE CRC of all that
 * record     as in the history: u8 1, varint length, content
 * definition := u8 2, varint index, varint length, row, varint length, bytes
 * refusal    := u8 3, varint length, row
 * ```
 * Definitions are what the applied row says of them, and nothing where it says nothing, but u8 0 where
 * refusals follow: the log index of the last that was kept, nothing where none was. What a part consists of comes in
 * log order. Bytes are those of a part of a component, and none where the component was removed since.
 *
 * Nothing is changed here, and what is wrong is said as text: the other replica may be the one that is damaged. A
 * checked part is taken over by `DatabaseMachine.install`.
 */
import { ByteReader, ByteWriter, compareBytes, crc32, DatabaseError, isLogIndex, type Sha256 } from '#base';
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
import { RowKeys } from './keys.ts';
import type { DatabaseSource } from './reader.ts';
import { readRecord, type StoredTransaction, TRANSACTION_RECORD } from './record.ts';
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

/** What a part consists of besides records of the history. */
export const SENT_DEFINITION = 2;
export const SENT_REFUSAL = 3;
const CRC_BYTES = 4;

/** Transactions without a gap. Their positions are in the part. */
export interface CheckedTransactions {
  readonly kind: 'transactions';
  readonly transactions: readonly StoredTransaction[];
}

/** A kept refusal of another replica. */
export interface CheckedRefusal {
  readonly kind: 'refusal';
  readonly refusal: KeptRefusal;
  readonly value: Uint8Array;
}

/** What a part consists of. */
export type HistoryUnit = CheckedTransactions | CheckedRecord | CheckedRefusal;

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

/** Follows the history of another replica from where this one stands. Total on whatever it is. */
export class HistoryImport {
  readonly #sha256: Sha256;
  readonly #keys: RowKeys;
  #revision: number;
  #chainHash: Uint8Array;
  #definitions: DefinitionMark;
  #refusals: Pick<RefusalMark, 'index'>;

  constructor(source: DatabaseSource, standing: Standing) {
    const { revision, chainHash, definitions = NO_DEFINITIONS, refusals = NO_REFUSALS } = standing;
    this.#sha256 = source.sha256;
    this.#keys = new RowKeys(source.group);
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
    const content = part.subarray(0, Math.max(0, part.length - CRC_BYTES));
    const isWhole = part.length === 0 || new ByteReader(part, content.length).u32le() === crc32(content);
    if (!isWhole) return 'its checksum is wrong';
    const reader = new ByteReader(content);
    try {
      while (reader.left > 0 && !reader.failed) units.push(this.#takeUnit(reader));
      if (!reader.failed) return units;
    } catch (error) {
      return this.#back(before, error instanceof Error ? error.message : String(error));
    }
    return this.#back(before, 'it ends inside a record');
  }

  #back({ revision, chainHash, definitions, refusals }: WholeStanding, fault: string): string {
    this.#revision = revision;
    this.#chainHash = chainHash;
    this.#definitions = definitions;
    this.#refusals = refusals;
    return fault;
  }

  #takeUnit(part: ByteReader): HistoryUnit {
    if (part.source[part.at] === TRANSACTION_RECORD) return this.#takeTransactions(part);
    const kind = part.u8();
    if (kind === SENT_REFUSAL) return this.#takeRefusal(part.bytes(part.varint()));
    if (kind !== SENT_DEFINITION) throw this.#unexpected(part, `kind ${kind} is unknown here`);
    const index = part.varint();
    const value = part.bytes(part.varint());
    return this.#takeRecord(index, value, part.bytes(part.varint()));
  }

  #takeTransactions(part: ByteReader): CheckedTransactions {
    const transactions: StoredTransaction[] = [];
    while (part.left > 0 && part.source[part.at] === TRANSACTION_RECORD) {
      const transaction = readRecord(part.source, part.at, 0) ?? 'it is cut';
      if (typeof transaction === 'string') throw this.#unexpected(part, transaction);
      this.#check(part, transaction);
      transactions.push(transaction);
      part.at = transaction.end;
    }
    return { kind: 'transactions', transactions };
  }

  #check(part: ByteReader, { revision, bytes, view, chainHash }: StoredTransaction): void {
    if (revision !== this.#revision + 1) throw this.#unexpected(part, `it is revision ${revision}`);
    const expected = this.#sha256([this.#chainHash, bytes.subarray(view.body.start, view.body.end)]);
    if (compareBytes(expected, chainHash) !== 0) throw this.#unexpected(part, 'another history leads to it');
    this.#revision = revision;
    this.#chainHash = expected;
  }

  #unexpected({ at }: ByteReader, fault: string): Error {
    return new DatabaseError('internal', `Byte ${at} of a part, after revision ${this.#revision}: ${fault}`);
  }

  #takeRefusal(value: Uint8Array): CheckedRefusal {
    const key = this.#keys.refusal(0).slice();
    const refusal = readRefusal(key, value);
    const { index } = refusal.place;
    if (index <= this.#refusals.index) {
      throw unexpectedRow(key, `it is of entry ${index}, and ${this.#refusals.index} is the last one here`);
    }
    this.#refusals = { index };
    return { kind: 'refusal', refusal, value };
  }

  #takeRecord(index: number, value: Uint8Array, bytes: Uint8Array): CheckedRecord {
    const key = this.#keys.definition(index).slice();
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
    const chainHash = before.index > 0 ? before.chainHash : new DefinitionLedger(this.#sha256).chainHash;
    const isNext = compareBytes(this.#sha256([chainHash, record.payloadHash]), record.chainHash) === 0;
    if (!isNext) throw unexpectedRow(key, 'other definitions lead to it');
    if (!hasBytes(this.#sha256, record, bytes)) throw unexpectedRow(key, 'its content is not what its hash says');
    this.#definitions = { index: record.place.index, chainHash: record.chainHash };
    return { kind: 'record', record, bytes };
  }
}

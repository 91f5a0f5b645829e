/**
 * The checking of a history that another replica has sent: whether it goes on where this one stands, and is whole.
 *
 * ```
 * standing := varint revision, 32 bytes H(revision)
 * part     := (varint length, page)*
 * ```
 * Nothing is changed here, and what is wrong is said as text: the other replica may be the one that is damaged. A
 * checked part is taken over by `DatabaseMachine.install`.
 */
import { ByteReader, ByteWriter, compareBytes } from '#base';
import { HASH_BYTES } from './applied-state.ts';
import { Page } from './page.ts';
import { DatabaseReader, type DatabaseSource, type StoredTransaction } from './reader.ts';

/** A revision and its chain hash: with the same one, two replicas have the same history up to there. */
export interface Standing {
  readonly revision: number;
  readonly chainHash: Uint8Array;
}

/** A page that is right from end to end. */
export interface CheckedPage {
  readonly page: Page;
  readonly transactions: readonly StoredTransaction[];
}

export function encodeStanding({ revision, chainHash }: Standing): Uint8Array {
  const writer = new ByteWriter();
  writer.varint(revision);
  writer.bytes(chainHash);
  return writer.take();
}

/** Undefined for bytes that are no standing. */
export function decodeStanding(bytes: Uint8Array): Standing | undefined {
  const reader = new ByteReader(bytes);
  const revision = reader.varint();
  const chainHash = reader.bytes(HASH_BYTES).slice();
  return reader.failed || reader.left > 0 ? undefined : { revision, chainHash };
}

/** Follows the pages of another replica from where this one stands. Total on whatever they are. */
export class HistoryImport {
  readonly #reader: DatabaseReader;
  #revision: number;
  #chainHash: Uint8Array;

  constructor(source: DatabaseSource, { revision, chainHash }: Standing) {
    this.#reader = new DatabaseReader(source);
    this.#revision = revision;
    this.#chainHash = chainHash;
  }

  /** Up to where everything was right. */
  get standing(): Standing {
    return { revision: this.#revision, chainHash: this.#chainHash };
  }

  /** The pages of a part, or what is wrong with it; then nothing of it counts. */
  take(part: Uint8Array): readonly CheckedPage[] | string {
    const before = this.standing;
    const pages: CheckedPage[] = [];
    const reader = new ByteReader(part);
    try {
      while (reader.left > 0 && !reader.failed) pages.push(this.#takePage(reader.bytes(reader.varint())));
      if (!reader.failed) return pages;
    } catch (error) {
      return this.#back(before, error instanceof Error ? error.message : String(error));
    }
    return this.#back(before, 'it ends inside a page');
  }

  #back({ revision, chainHash }: Standing, fault: string): string {
    this.#revision = revision;
    this.#chainHash = chainHash;
    return fault;
  }

  /** Pages end where their writer flushed, so the first one may begin before this replica ends. */
  #takePage(value: Uint8Array): CheckedPage {
    const { source, keys } = this.#reader;
    const page = new Page(keys.page(this.#revision + 1).slice(), value, source.crc32);
    if (page.firstRevision < 1 || page.firstRevision > this.#revision + 1 || page.count === 0) {
      throw page.corrupt(`it begins at revision ${page.firstRevision}, and ${this.#revision} is the last one here`);
    }
    const transactions = this.#reader.transactions(page);
    for (const { revision, bytes, view, chainHash } of transactions) {
      if (revision < this.#revision) continue;
      const { start, end } = view.body;
      const isKnown = revision === this.#revision;
      const expected = isKnown ? this.#chainHash : source.sha256([this.#chainHash, bytes.subarray(start, end)]);
      if (compareBytes(expected, chainHash) !== 0) throw page.corrupt(`another history leads to revision ${revision}`);
      this.#revision = revision;
      this.#chainHash = expected;
    }
    return { page, transactions };
  }
}

/**
 * Whether the history above a durable point is whole: what a node asks after a crash, before it trusts rows that were
 * never synced (docs/formats/pages.md).
 *
 * LevelDB keeps or loses a batch as a whole, but after a power loss it may have lost one and kept a later one. Every
 * batch that changed a database holds a page, so pages without a gap, whose chain hashes lead to that of the applied
 * row, prove that no batch is missing (D11).
 */
import { toHex } from '#base';
import { isFaultOfRow } from './corruption.ts';
import { genesisHash } from './facts.ts';
import { Page } from './page.ts';
import type { DatabaseReader, StoredTransaction } from './reader.ts';
import { slices } from './walks.ts';

export type HistoryCheck =
  | { readonly kind: 'whole' }
  /** `revision` is the first that cannot be vouched for. */
  | { readonly kind: 'broken'; readonly revision: number; readonly fault: string };

const WHOLE: HistoryCheck = { kind: 'whole' };

/**
 * Checks the revisions above `durableRevision` up to the applied one. The pages up to `durableRevision` are durable.
 */
export async function verifyHistory(reader: DatabaseReader, durableRevision: number): Promise<HistoryCheck> {
  const applied = reader.applied();
  if (applied === undefined) return broken(durableRevision + 1, 'there is no applied row');
  if (applied.revision <= durableRevision) return WHOLE;
  const base = durableRevision === 0 ? undefined : await lastTransactionUpTo(reader, durableRevision);
  const chainHash = base?.chainHash ?? genesisHash(reader.source.sha256, applied.rootId);
  return verifyPages(reader, { from: durableRevision, to: applied.revision, chainHash, last: applied.chainHash });
}

export interface PagesToVerify {
  /** The revision before the first one to check; a page begins behind it. */
  readonly from: number;
  /** The last one to check. */
  readonly to: number;
  /** H(from). */
  readonly chainHash: Uint8Array;
  /** What H(to) must be. */
  readonly last: Uint8Array;
}

/** Walks the pages of `(from, to]`: no gap, every checksum right, every chain hash as its body gives it. */
async function verifyPages(reader: DatabaseReader, wanted: PagesToVerify): Promise<HistoryCheck> {
  const chain = new ChainCheck(reader, wanted.from, wanted.chainHash);
  try {
    for await (const rows of slices(reader.source.kv.range(reader.keys.pages(wanted.from + 1, wanted.to + 1)))) {
      for (const { key, value } of rows) {
        const fault = chain.takePage(new Page(key, value, reader.source.crc32));
        if (fault !== undefined) return broken(chain.revision + 1, fault);
      }
    }
  } catch (error) {
    if (!isFaultOfRow(error)) throw error;
    return broken(chain.revision + 1, error.message);
  }
  if (chain.revision !== wanted.to) return broken(chain.revision + 1, 'its page is missing');
  if (toHex(chain.hash) !== toHex(wanted.last))
    return broken(wanted.to, 'its chain hash is not that of the applied row');
  return WHOLE;
}

/** Follows the chain hash from page to page. */
export class ChainCheck {
  /** The last revision that has been checked. */
  revision: number;
  hash: Uint8Array;
  readonly #reader: DatabaseReader;

  constructor(reader: DatabaseReader, revision: number, hash: Uint8Array) {
    this.#reader = reader;
    this.revision = revision;
    this.hash = hash;
  }

  /** What is wrong with the page, if it does not go on where the last one ended. Throws when it is corrupt. */
  takePage(page: Page): string | undefined {
    if (page.firstRevision !== this.revision + 1) return `the next page begins at revision ${page.firstRevision}`;
    for (const transaction of this.#reader.transactions(page)) {
      const { bytes, view, revision, chainHash } = transaction;
      const expected = this.#reader.source.sha256([this.hash, bytes.subarray(view.body.start, view.body.end)]);
      if (toHex(expected) !== toHex(chainHash)) return 'its chain hash does not follow from its body';
      this.revision = revision;
      this.hash = expected;
    }
    return undefined;
  }
}

/** The transaction of a revision that is durable, found without the page directory, which may not be. */
async function lastTransactionUpTo(reader: DatabaseReader, revision: number): Promise<StoredTransaction> {
  const range = reader.source.kv.range({ ...reader.keys.pages(0, revision + 1), reverse: true, limit: 1 });
  const [row] = await range.next(1);
  await range.close();
  const page = row === undefined ? reader.page(revision) : new Page(row.key, row.value, reader.source.crc32);
  const found = reader.transactions(page).find((transaction) => transaction.revision === revision);
  if (found === undefined)
    throw page.unexpected(`it is the last page up to revision ${revision}, and does not hold it`);
  return found;
}

function broken(revision: number, fault: string): HistoryCheck {
  return { kind: 'broken', revision, fault };
}

/**
 * Whether the history above a durable point is whole: asked by a node after a crash, before it trusts rows and records
 * that were never synced (docs/formats/history.md).
 *
 * LevelDB keeps or loses a batch as a whole, but after a power loss it may have lost one and kept a later one; and the
 * end of a history may be lost. Every batch that changed a database holds the position of a record, so positions
 * without a gap, of records whose chain hashes lead to that of the applied row, prove that nothing is missing (D11).
 */
import { compareBytes, type Sha256 } from '#base';
import { isFaultOfRow } from './corruption.ts';
import { genesisHash } from './facts.ts';
import { DatabaseReader, type DatabaseSource } from './reader.ts';
import type { StoredTransaction, TransactionHead } from './record.ts';
import { walkHistory } from './walks.ts';

export type HistoryCheck =
  | { readonly kind: 'whole' }
  /** `revision` is the first that cannot be vouched for. */
  | { readonly kind: 'broken'; readonly revision: number; readonly fault: string };

const WHOLE: HistoryCheck = { kind: 'whole' };

/**
 * Checks the revisions above `durableRevision` up to the applied one. What is at or below it is durable.
 */
export async function verifyHistory(reader: DatabaseReader, durableRevision: number): Promise<HistoryCheck> {
  const applied = reader.applied();
  if (applied === undefined) return broken(durableRevision + 1, 'there is no applied row');
  if (applied.revision <= durableRevision) return WHOLE;
  const { sha256 } = reader.source;
  const base = durableRevision === 0 ? undefined : durableHead(reader.source, durableRevision);
  const chain = new ChainCheck(sha256, durableRevision, base?.chainHash ?? genesisHash(sha256, applied.rootId));
  let end = base?.end ?? 0;
  try {
    for await (const { transactions } of walkHistory(reader, { from: end, to: applied.end })) {
      for (const transaction of transactions) {
        const start = reader.start(chain.revision + 1);
        const isPlaced = start === end;
        const fault = isPlaced ? chain.take(transaction) : `its position is ${end}, and its row has ${start}`;
        if (fault !== undefined) return broken(chain.revision + 1, fault);
        ({ end } = transaction);
      }
    }
  } catch (error) {
    if (!isFaultOfRow(error)) throw error;
    return broken(chain.revision + 1, error.message);
  }
  if (chain.revision !== applied.revision) return broken(chain.revision + 1, 'its record is missing');
  if (compareBytes(chain.hash, applied.chainHash) === 0) return WHOLE;
  return broken(applied.revision, 'its chain hash is not that of the applied row');
}

/** Read by itself: the applied row may name an end that the history does not reach any more. */
export function durableHead(source: DatabaseSource, revision: number): TransactionHead {
  return new DatabaseReader(source).transactionHead(revision);
}

/** Follows the chain hash from transaction to transaction. */
export class ChainCheck {
  /** The last revision that has been checked. */
  revision: number;
  hash: Uint8Array;
  readonly #sha256: Sha256;

  constructor(sha256: Sha256, revision: number, hash: Uint8Array) {
    this.#sha256 = sha256;
    this.revision = revision;
    this.hash = hash;
  }

  /** Why the transaction does not continue where the last one ended; undefined when it does. */
  take({ revision, bytes, view, chainHash }: StoredTransaction): string | undefined {
    if (revision !== this.revision + 1) return `revision ${revision} follows ${this.revision}`;
    const expected = this.#sha256([this.hash, bytes.subarray(view.body.start, view.body.end)]);
    if (compareBytes(expected, chainHash) !== 0) return 'its chain hash does not follow from its body';
    this.revision = revision;
    this.hash = expected;
    return undefined;
  }
}

function broken(revision: number, fault: string): HistoryCheck {
  return { kind: 'broken', revision, fault };
}

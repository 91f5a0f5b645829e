/** Whether two replicas have the same history, as far as both have come: by their chain hashes (D3, D22). */
import { compareBytes, toHex } from '#base';
import { type Applied, NO_DEFINITIONS } from './applied.ts';
import { genesisHash } from './facts.ts';
import type { Standing } from './history-import.ts';
import { DatabaseReader, type DatabaseSource } from './reader.ts';
import { recordsBehind } from './stored-definitions.ts';

/** What differs, and the value of it in both. */
export interface HistoryDifference {
  readonly what: string;
  readonly here: string;
  readonly there: string;
}

/** `beyond`: the other one has come further than this one, and there is nothing to compare it with. */
export type HistoryVerdict = 'same' | 'beyond' | HistoryDifference;

/** Whether the history that stands there is a beginning of the one in this store. */
export function compareHistory(source: DatabaseSource, standing: Standing): HistoryVerdict {
  const reader = new DatabaseReader(source);
  const mark = reader.applied();
  if (mark === undefined || standing.revision > mark.revision) return 'beyond';
  const what = `the chain hash of revision ${standing.revision}`;
  const difference = differenceBetween(what, chainHashOf(reader, mark, standing.revision), standing.chainHash);
  return difference ?? compareDefinitions(reader, mark, standing.definitions ?? NO_DEFINITIONS);
}

export function chainHashOf(reader: DatabaseReader, { rootId }: Applied, revision: number): Uint8Array {
  if (revision === 0) return genesisHash(reader.source.sha256, rootId);
  return reader.transactionHead(revision).chainHash;
}

/** Undefined: both are the same. */
export function differenceBetween(
  what: string,
  here: Uint8Array | undefined,
  there: Uint8Array,
): HistoryDifference | undefined {
  if (here !== undefined && compareBytes(here, there) === 0) return undefined;
  return { what, here: here === undefined ? 'missing' : toHex(here), there: toHex(there) };
}

function compareDefinitions(
  reader: DatabaseReader,
  { index, definitions }: Applied,
  there: Applied['definitions'],
): HistoryVerdict {
  if (there.index === 0) return 'same';
  if (there.index > index) return 'beyond';
  const isLast = there.index === definitions.index;
  const here = isLast
    ? definitions
    : recordsBehind(reader, definitions, 0).find(({ place }) => place.index === there.index);
  const what = `the chain hash of definitions up to log entry ${there.index}`;
  return differenceBetween(what, here?.chainHash, there.chainHash) ?? 'same';
}

/** The transactions that cannot be read in a part of a history, which is damaged there. */
import { type HistoryRange, isHistoryDamage } from '#kv';
import { DatabaseReader, type DatabaseSource } from './reader.ts';

/** Their revisions, among those that begin in the range. Empty for a database whose rows are being rebuilt. */
export async function unreadableIn(source: DatabaseSource, { from, to }: HistoryRange): Promise<readonly number[]> {
  const reader = new DatabaseReader(source);
  const { revision: last, end } = reader.applied() ?? { revision: 0, end: 0 };
  const found: number[] = [];
  for (let revision = firstFrom(reader, from, last); revision <= last; revision++) {
    const start = reader.start(revision);
    if (start >= to) break;
    try {
      await reader.records({ from: start, to: end }, 1);
    } catch (failure) {
      if (!isHistoryDamage(failure)) throw failure;
      found.push(revision);
    }
  }
  return found;
}

/** The first revision whose record begins at this position or later; one more than `last` if there is none. */
function firstFrom(reader: DatabaseReader, position: number, last: number): number {
  let [low, high] = [1, last + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (reader.start(middle) >= position) high = middle;
    else low = middle + 1;
  }
  return low;
}

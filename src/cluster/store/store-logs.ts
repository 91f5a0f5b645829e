/**
 * Which logs LevelDB had of its own before the store was opened, for a refusal whose cause may be one of them. One that
 * was cut between two records, or inside of the last one, looks as a power loss leaves it: nothing else says that it
 * has lost something, and when LevelDB has opened they are gone.
 */
import type { LevelLog } from '#storage';

/** A sentence with a blank in front, or nothing where there was none. */
export function sentenceOnStoreLogs(storeLogs: readonly LevelLog[]): string {
  if (storeLogs.length === 0) return '';
  const words = storeLogs.map(({ path, bytes, isTorn }) =>
    isTorn ? `${path}, of which only the first ${bytes} bytes are whole` : `${path}, of ${bytes} bytes`,
  );
  return ` Before the store was opened, LevelDB had as its own logs ${words.join(', and ')}.`;
}

/** What to do with a data directory that has lost some of what it held. */
export const LOST_STORE: string =
  'In a cluster whose other nodes have copies of everything, move this directory away, start the node with an empty one and --join, and take the old node out (cairn cluster replace OLD --by NEW); a node that is alone needs a copy of the whole directory from before';

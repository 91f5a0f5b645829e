/**
 * Describes LevelDB's own log files before the store was opened, for a refusal whose cause may be one of them. A
 * truncated log file looks like one after a power failure: nothing else shows that data is lost, and LevelDB deletes
 * the files when it opens the store.
 */
import type { LevelLog } from '#storage';

/** A sentence with a leading space, or an empty text without log files. */
export function sentenceOnStoreLogs(storeLogs: readonly LevelLog[]): string {
  if (storeLogs.length === 0) return '';
  const words = storeLogs.map(({ path, bytes, isTorn }) =>
    isTorn ? `${path}, of which only the first ${bytes} bytes are whole` : `${path}, of ${bytes} bytes`,
  );
  return ` Before the store was opened, LevelDB had as its own logs ${words.join(', and ')}.`;
}

/** Advice for a data directory that has lost data. */
export const LOST_STORE: string =
  'In a cluster whose other nodes have replicas of everything, move this directory away, start the node with an empty one and --join, and remove the old node (cairn cluster replace OLD --by NEW); a node that is alone needs a copy of the whole directory from before';

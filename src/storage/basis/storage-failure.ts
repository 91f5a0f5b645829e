/**
 * The failures after which the log, and with it the process, goes no further.
 *
 * They are not answers to a request: the receiver stops the process, and the next start finds out what is on disk.
 * Each message names the file, the offset where there is one, what was found, and what an
 * operator can do.
 */
import { messageOf } from '#base';

export type StorageFailureKind =
  /** Our own bytes are not what was written. */
  | 'corrupt'
  /** The files are those of another store, or of another release. */
  | 'foreign'
  /** A write or a sync failed: what it was about may or may not be on disk. */
  | 'unwritten'
  /** A new segment could not be created because the disk is full. Nothing was written. */
  | 'full';

export interface StorageFailurePlace {
  readonly path: string;
  readonly offset?: number;
  readonly cause?: unknown;
}

export class StorageFailure extends Error {
  override readonly name = 'StorageFailure';
  readonly kind: StorageFailureKind;
  readonly path: string;
  readonly offset: number | undefined;

  constructor(kind: StorageFailureKind, message: string, place: StorageFailurePlace) {
    super(message, place.cause === undefined ? undefined : { cause: place.cause });
    this.kind = kind;
    this.path = place.path;
    this.offset = place.offset;
  }
}

/** Advice for a damaged data directory. In a cluster, a node must not start from an old backup. */
export const RESTORE_HINT: string =
  'In a cluster whose other nodes have copies of all that is here, move the data directory away and start the node with ' +
  '--join, as a new one; restore the data directory from a backup only if the node is alone.';

const LOG_HINT = `Do not delete single files of the data directory. Check the disk. ${RESTORE_HINT}`;

/** Damage in a file of the log, or in the ledger, that no crash explains. */
export function corruption(path: string, offset: number, found: string): StorageFailure {
  const message = `${path} is damaged at offset ${offset}: found ${found}. ${LOG_HINT}`;
  return new StorageFailure('corrupt', message, { path, offset });
}

/** A file of the log that should be there and is not, or is not whole. */
export function missing(path: string, found: string): StorageFailure {
  return new StorageFailure('corrupt', `${path} is missing or cut short: found ${found}. ${LOG_HINT}`, { path });
}

export function foreign(path: string, found: string): StorageFailure {
  const message =
    `${path} does not belong to this store: found ${found}. ` +
    'Start the node with the data directory and the release that the file was written by.';
  return new StorageFailure('foreign', message, { path });
}

/** A write or sync that failed. Linux forgets the failed pages, so a second try would seem to succeed (W7). */
export function unwritten(path: string, cause: unknown): StorageFailure {
  const reason = messageOf(cause);
  if (isOutOfSpace(cause)) {
    const message = `There is no space left for ${path} (${reason}). Free or add space, then start the node again.`;
    return new StorageFailure('full', message, { path, cause });
  }
  const message =
    `${path} could not be written (${reason}). What was being written may or may not be on disk; ` +
    'the next start finds out. If this happens again, replace the disk.';
  return new StorageFailure('unwritten', message, { path, cause });
}

/** A directory that was removed after it was opened: bytes that are written into its files are lost. */
export function gone(path: string, cause: unknown): StorageFailure {
  const reason = messageOf(cause);
  const message =
    `${path} is not there any more (${reason}): it was removed, moved or unmounted while the node ran. ` +
    'Restore it as it was, then start the node again; with an empty one the node would lose its data.';
  return new StorageFailure('unwritten', message, { path, cause });
}

/** Does the work; a failure of it becomes `unwritten`. */
export function orUnwritten<Value>(path: string, work: () => Value): Value {
  try {
    return work();
  } catch (error) {
    throw unwritten(path, error);
  }
}

/** Like `orUnwritten`, for work off this thread. */
export async function orUnwrittenLater<Value>(path: string, work: Promise<Value>): Promise<Value> {
  return work.catch((cause: unknown) => {
    throw unwritten(path, cause);
  });
}

/** Returns true when the error says that the disk, or the quota on it, is full. */
function isOutOfSpace(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT');
}

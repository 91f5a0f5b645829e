// What the world did to a node that explains why its process has ended, told apart as finely as faults are: a failed
// call excuses a failure that goes back to that very call, a spoiled file one that names the file, a spoiled row one
// that finds it, and a store that was cut one that says so. Whatever else ends a process is a fault of the node, a
// broken invariant always, however much is damaged besides.
import { DatabaseError } from '#base';
import { StorageFailure } from '#storage';
import type { SimDisk } from '../disk/sim-disk.ts';
import type { SimStore } from '../disk/sim-store.ts';

export interface World {
  readonly disk: Pick<SimDisk, 'damagedFiles' | 'hasThrown'>;
  readonly store: Pick<SimStore, 'isRotten' | 'isCut' | 'hasThrown'>;
}

/** Of a log beside a store that is new (src/cluster/store/data-directory.ts). */
export const STORE_IS_MISSING = 'StoreMissing';

/** What is wrong by each reason that a node may end for, and whether that is so. */
const REASONS: Readonly<Record<string, readonly [excuse: string, holds: (failure: unknown, world: World) => boolean]>> =
  {
    NotJoined: ['no cluster has answered', () => true],
    StoreFailed: ['the store has failed', (failure, { store }) => hasCause(failure, (cause) => store.hasThrown(cause))],
    CorruptRecord: ['the disk has spoiled a row', (_, { store }) => store.isRotten],
    StoreAndLogDisagree: ['the store was cut', (_, { store }) => store.isCut],
    [STORE_IS_MISSING]: ['the store was cut', (_, { store }) => store.isCut],
    // What raised it is cut away, and a release reads no more of a level that it does not know (C23).
    LevelNotKnown: ['the store was cut', (failure, { store }) => store.isCut && isOfEarlierLevel(failure)],
  };

export function excuseOf(failure: unknown, world: World): string | undefined {
  if (failure instanceof StorageFailure) return excuseOfStorage(failure, world.disk);
  const [excuse, holds] = REASONS[reasonOf(failure) ?? ''] ?? [];
  return holds?.(failure, world) === true ? excuse : undefined;
}

export function reasonOf(failure: unknown): string | undefined {
  return failure instanceof DatabaseError ? failure.details.reason : undefined;
}

function excuseOfStorage(failure: StorageFailure, disk: World['disk']): string | undefined {
  switch (failure.kind) {
    case 'corrupt':
      return disk.damagedFiles.includes(failure.path) ? 'the disk has spoiled a file' : undefined;
    case 'full':
      return hasCause(failure, (cause) => disk.hasThrown(cause, 'ENOSPC')) ? 'the disk is full' : undefined;
    case 'unwritten':
      return hasCause(failure, (cause) => disk.hasThrown(cause, 'EIO')) ? 'the disk has failed' : undefined;
    case 'foreign':
      return undefined;
  }
}

/** Whether an earlier release is asked for. */
function isOfEarlierLevel(failure: unknown): boolean {
  return failure instanceof Error && failure.message.endsWith('start an earlier one, and finalize it');
}

/** Whether the failure, or one that it goes back to, is such a one. */
function hasCause(failure: unknown, isSuch: (cause: unknown) => boolean): boolean {
  for (let cause = failure; cause instanceof Error; cause = cause.cause) if (isSuch(cause)) return true;
  return false;
}

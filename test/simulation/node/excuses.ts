// Decides whether an injected fault explains the end of a process. Each fault explains only its own effects: a failed
// call explains a failure caused by that call, a damaged file a failure that names it, a damaged row a failure that
// detects it, and a truncated store a failure that reports it. Any other end is a fault of the node. A broken invariant
// is never excused.
import { DatabaseError } from '#base';
import { StorageFailure } from '#storage';
import type { SimDisk } from '../disk/sim-disk.ts';
import type { SimStore } from '../disk/sim-store.ts';

export interface World {
  readonly disk: Pick<SimDisk, 'damagedFiles' | 'hasThrown'>;
  readonly store: Pick<SimStore, 'isRotten' | 'isCut' | 'spoiledFiles' | 'hasThrown'>;
}

/** For each reason of an end, its excuse and whether it applies. */
const REASONS: Readonly<Record<string, readonly [excuse: string, holds: (failure: unknown, world: World) => boolean]>> =
  {
    NotJoined: ['no cluster has answered', () => true],
    StoreFailed: ['the store has failed', (failure, { store }) => hasCause(failure, (cause) => store.hasThrown(cause))],
    HistoryDamaged: ['the disk has spoiled a history', (_, { store }) => store.spoiledFiles.length > 0],
    CorruptRecord: ['the disk has spoiled a row', (_, { store }) => store.isRotten],
    StoreAndLogDisagree: ['the store was cut', (_, { store }) => store.isCut],
  };

export function excuseOf(failure: unknown, world: World): string | undefined {
  if (failure instanceof StorageFailure) return excuseOfStorage(failure, world);
  const [excuse, holds] = REASONS[reasonOf(failure) ?? ''] ?? [];
  return holds?.(failure, world) === true ? excuse : undefined;
}

export function reasonOf(failure: unknown): string | undefined {
  return failure instanceof DatabaseError ? failure.details.reason : undefined;
}

function excuseOfStorage(failure: StorageFailure, { disk, store }: World): string | undefined {
  switch (failure.kind) {
    case 'corrupt':
      return [...disk.damagedFiles, ...store.spoiledFiles].includes(failure.path)
        ? 'the disk has spoiled a file'
        : undefined;
    case 'full':
      return hasCause(failure, (cause) => disk.hasThrown(cause, 'ENOSPC')) ? 'the disk is full' : undefined;
    case 'unwritten':
      return hasCause(failure, (cause) => disk.hasThrown(cause, 'EIO')) ? 'the disk has failed' : undefined;
    case 'foreign':
      return undefined;
  }
}

/** True when the failure, or one of its causes, satisfies the predicate. */
function hasCause(failure: unknown, isSuch: (cause: unknown) => boolean): boolean {
  for (let cause = failure; cause instanceof Error; cause = cause.cause) if (isSuch(cause)) return true;
  return false;
}

/**
 * Messages between the user of the log and the log's thread. Records are sent as bare bytes whose buffer is
 * transferred; the n-th message of records is batch n on both sides, so it carries no number.
 */

import { StorageFailure, type StorageFailureKind } from './basis/storage-failure.ts';
import type { EncodedRecords } from './log-records.ts';
import type { BatchId, PersistedFacts, RecoveredLog } from './log-writer.ts';
import type { WalIdentity } from './wal-format.ts';

/** The first message: which log the thread is for. */
export interface OpenLog {
  readonly directory: string;
  readonly identity: WalIdentity;
  readonly segmentBytes: number;
}

/** Every later message. */
export type ToLogThread = EncodedRecords | 'close';

export type FromLogThread =
  | { readonly kind: 'opened'; readonly recovered: RecoveredLog }
  | { readonly kind: 'persisted'; readonly through: BatchId; readonly facts: PersistedFacts }
  | { readonly kind: 'failed'; readonly failure: FailureMessage };

/** An error in a form that survives the way between threads. */
export interface FailureMessage {
  readonly message: string;
  /** Present when it is a `StorageFailure`. */
  readonly storage?: { readonly kind: StorageFailureKind; readonly path: string; readonly offset: number | undefined };
  readonly stack: string | undefined;
}

export function toFailureMessage(error: unknown): FailureMessage {
  if (!(error instanceof Error)) return { message: String(error), stack: undefined };
  const { message, stack } = error;
  if (!(error instanceof StorageFailure)) return { message, stack };
  return { message, stack, storage: { kind: error.kind, path: error.path, offset: error.offset } };
}

export function fromFailureMessage({ message, storage, stack }: FailureMessage): Error {
  if (storage === undefined) return new Error(message, { cause: stack });
  const { kind, path, offset } = storage;
  return new StorageFailure(kind, message, { path, cause: stack, ...(offset === undefined ? {} : { offset }) });
}

/** The buffers of the recovered payloads, each once: they are moved to the other thread, not copied. */
export function buffersOf(recovered: RecoveredLog): readonly ArrayBuffer[] {
  const buffers = new Set<ArrayBuffer>();
  for (const { entries } of recovered.groups.values()) {
    for (const { payload } of entries) if (payload.buffer instanceof ArrayBuffer) buffers.add(payload.buffer);
  }
  return [...buffers];
}

/**
 * The zero-filled file that will become the next segment, prepared while the current one fills up.
 *
 * Zeros that were written in advance make a batch cheap and safe: its sync changes no metadata, it cannot run out of
 * space half way, and every lost sector reads as zeros (W5).
 *
 * The preparation has twice the pace of the log: when the current segment is half full, the spare is ready. It runs off
 * this thread, one chunk at a time, and is driven by the progress of the log, so it needs no timer and never occupies
 * the disk for longer than one chunk.
 *
 *   W13  A file that was taken is zero from end to end and has its full size. Taking it writes nothing when it is
 *        ready; when it is not, the rest is written at once, and the caller syncs it.
 */
import { join } from 'node:path';
import { orUnwritten, StorageFailure, unwritten } from './basis/storage-failure.ts';
import type { Disk, DiskFile } from './disk.ts';

export const SPARE_SUFFIX = '.spare';

const CHUNK_BYTES_MIN = 1024 * 1024;
/** Zeros for the largest chunk. The buffer is never written to, so it takes no memory. */
const ZEROS: Uint8Array = new Uint8Array(4 * CHUNK_BYTES_MIN);
const PACE = 2;

interface Draft {
  readonly file: DiskFile;
  /** Bytes that are written and synced. */
  ready: number;
}

export class SpareSegment {
  readonly #disk: Disk;
  readonly #directory: string;
  readonly #segmentBytes: number;
  #draft: Draft | undefined;
  #made = 0;
  #target = 0;
  #work: Promise<void> | undefined;
  #failure: StorageFailure | undefined;
  /** After a full disk: no attempt before the log has used this many bytes of its segment. */
  #pausedUntil = 0;

  constructor(disk: Disk, directory: string, segmentBytes: number) {
    this.#disk = disk;
    this.#directory = directory;
    this.#segmentBytes = segmentBytes;
  }

  /** A write or sync that failed in the background for another reason than want of space. The log is to stop. */
  get failure(): StorageFailure | undefined {
    return this.#failure;
  }

  /** True when the next `take` costs nothing. */
  get isReady(): boolean {
    return this.#work === undefined && this.#draft?.ready === this.#segmentBytes;
  }

  /** Continues preparing, given how many bytes of the current segment are used. Returns at once. */
  pace(usedBytes: number): void {
    this.#target = Math.min(this.#segmentBytes, PACE * usedBytes);
    if (this.#work !== undefined || usedBytes < this.#pausedUntil) return;
    if ((this.#draft?.ready ?? 0) >= this.#target) return;
    this.#work = this.#prepare(usedBytes).finally(() => {
      this.#work = undefined;
    });
  }

  /** The prepared file, now the caller's. Throws when there is no space for the part that is not ready. */
  take(): DiskFile {
    // While a chunk is on its way the draft cannot be used: the chunk would overwrite what the log puts there.
    const draft = this.#work === undefined ? (this.#draft ?? this.#create()) : this.#create();
    if (draft === this.#draft) this.#draft = undefined;
    this.#pausedUntil = 0;
    try {
      this.#finish(draft);
    } catch (error) {
      this.#discard(draft);
      throw unwritten(draft.file.path, error);
    }
    return draft.file;
  }

  /** Waits for the chunk in progress, and deletes the prepared file. */
  async close(): Promise<void> {
    this.#target = 0;
    await this.#work;
    if (this.#draft !== undefined) this.#discard(this.#draft);
    this.#draft = undefined;
  }

  #create(): Draft {
    this.#made += 1;
    const path = join(this.#directory, `${this.#made}${SPARE_SUFFIX}`);
    return orUnwritten(path, () => ({ file: this.#disk.open(path, 'create'), ready: 0 }));
  }

  #finish(draft: Draft): void {
    while (draft.ready < this.#segmentBytes) {
      const chunk = this.#nextChunk(draft, this.#segmentBytes);
      draft.file.write(chunk, draft.ready);
      draft.ready += chunk.length;
    }
  }

  async #prepare(usedBytes: number): Promise<void> {
    try {
      this.#draft ??= this.#create();
      const draft = this.#draft;
      while (draft.ready < this.#target) {
        const chunk = this.#nextChunk(draft, this.#target);
        await draft.file.writeThrough(chunk, draft.ready);
        draft.ready += chunk.length;
      }
    } catch (error) {
      this.#pausedUntil = usedBytes + this.#segmentBytes / 16;
      this.#failure = this.#abandon(error);
    }
  }

  /** Gives up the draft. A full disk is no failure: the log can do without a spare, and tries again later (W13). */
  #abandon(error: unknown): StorageFailure | undefined {
    const path = this.#draft?.file.path ?? this.#directory;
    const failure = error instanceof StorageFailure ? error : unwritten(path, error);
    try {
      if (this.#draft !== undefined) this.#discard(this.#draft);
    } catch (second) {
      return unwritten(path, second);
    }
    this.#draft = undefined;
    return failure.kind === 'full' ? undefined : failure;
  }

  #discard(draft: Draft): void {
    const { path } = draft.file;
    draft.file.close();
    orUnwritten(path, () => this.#disk.remove(path));
  }

  /** Small while the log is slow, so that its syncs hardly notice; larger when there is much to catch up with. */
  #nextChunk(draft: Draft, target: number): Uint8Array {
    const wanted = Math.max(CHUNK_BYTES_MIN, target - draft.ready);
    return ZEROS.subarray(0, Math.min(wanted, this.#segmentBytes - draft.ready, ZEROS.length));
  }
}

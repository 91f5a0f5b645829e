/**
 * The files that will become the next segments: those that the log no longer needs, or else zeros that are written
 * while the current segment fills up.
 *
 * Bytes that were written in advance make a batch cheap and safe: its sync changes no metadata, it cannot run out of
 * space half way, and every lost sector is old (W5).
 *
 * A log that makes checkpoints releases a segment soon after it has begun the next one, so zeros are only written when
 * the current segment is half full and there is no spare. They have four times the pace of the log: when it is three
 * quarters full, the spare is ready. The writes run off this thread, one chunk at a time, and are driven by the
 * progress of the log, so they need no timer and never occupy the disk for longer than one chunk.
 *
 *   W13  A file that was taken has its full size, and in it only zeros and sectors of earlier segments. Taking it
 *        writes nothing when it is ready; when it is not, the rest is written at once, and the caller syncs it.
 */
import { join } from 'node:path';
import { orUnwritten, StorageFailure, unwritten } from './basis/storage-failure.ts';
import type { Disk, DiskFile } from './disk.ts';

export const SPARE_SUFFIX = '.spare';

const CHUNK_BYTES_MIN = 1024 * 1024;
/** Spares that are kept at a time. A second one lets the log fill a segment before its last one is released. */
const SPARES_MAX = 2;
/** Zeros for the largest chunk. The buffer is never written to, so it takes no memory. */
const ZEROS: Uint8Array = new Uint8Array(4 * CHUNK_BYTES_MIN);
const PACE = 4;

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
  /** Files of earlier segments. */
  readonly #recycled: DiskFile[] = [];
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
    return this.#recycled.length > 0 || (this.#work === undefined && this.#draft?.ready === this.#segmentBytes);
  }

  /** Continues preparing, given how many bytes of the current segment are used. Returns at once. */
  pace(usedBytes: number): void {
    this.#target = Math.min(this.#segmentBytes, PACE * (usedBytes - this.#segmentBytes / 2));
    if (this.#work !== undefined || this.isReady || usedBytes < this.#pausedUntil) return;
    if ((this.#draft?.ready ?? 0) >= this.#target) return;
    this.#work = this.#prepare(usedBytes).finally(() => {
      this.#work = undefined;
    });
  }

  /**
   * Makes a spare of a segment that is not needed any more, or removes it when there are enough. The caller syncs the
   * directory before it takes a file.
   */
  recycle(path: string): void {
    if (this.#recycled.length + (this.#draft === undefined ? 0 : 1) === SPARES_MAX) return this.#disk.remove(path);
    const name = this.#nextPath();
    this.#disk.rename(path, name);
    const file = this.#disk.open(name, 'existing');
    if (file.size() === this.#segmentBytes) this.#recycled.push(file);
    else this.#discard(file);
  }

  /** A prepared file, now the caller's. Throws when there is no space for the part that is not ready. */
  take(): DiskFile {
    this.#pausedUntil = 0;
    const recycled = this.#recycled.pop();
    if (recycled !== undefined) return recycled;
    // While a chunk is on its way the draft cannot be used: the chunk would overwrite what the log puts there.
    const draft = this.#work === undefined ? (this.#draft ?? this.#create()) : this.#create();
    if (draft === this.#draft) this.#draft = undefined;
    try {
      this.#finish(draft);
    } catch (error) {
      this.#discard(draft.file);
      throw unwritten(draft.file.path, error);
    }
    return draft.file;
  }

  /** Waits for the chunk in progress, and deletes the prepared files. */
  async close(): Promise<void> {
    this.#target = 0;
    await this.#work;
    for (const file of this.#recycled.splice(0)) this.#discard(file);
    if (this.#draft !== undefined) this.#discard(this.#draft.file);
    this.#draft = undefined;
  }

  #create(): Draft {
    const path = this.#nextPath();
    return orUnwritten(path, () => ({ file: this.#disk.open(path, 'create'), ready: 0 }));
  }

  #nextPath(): string {
    this.#made += 1;
    return join(this.#directory, `${this.#made}${SPARE_SUFFIX}`);
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
      if (this.#draft !== undefined) this.#discard(this.#draft.file);
    } catch (second) {
      return unwritten(path, second);
    }
    this.#draft = undefined;
    return failure.kind === 'full' ? undefined : failure;
  }

  #discard(file: DiskFile): void {
    file.close();
    orUnwritten(file.path, () => this.#disk.remove(file.path));
  }

  /** Small while the log is slow, so that its syncs hardly notice; larger when there is much to catch up with. */
  #nextChunk(draft: Draft, target: number): Uint8Array {
    const wanted = Math.max(CHUNK_BYTES_MIN, target - draft.ready);
    return ZEROS.subarray(0, Math.min(wanted, this.#segmentBytes - draft.ready, ZEROS.length));
  }
}

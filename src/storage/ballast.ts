/**
 * The ballast: a file that does nothing but take up space, until the space is needed.
 *
 * It is made in small steps, each as large as its owner allows, because there is no way from here to reserve space but
 * to write it. Its bytes are random: a file system that compresses would store zeros in no space at all.
 */
import { randomFillSync } from 'node:crypto';
import { isOutOfDescriptors } from './descriptors.ts';
import type { Disk, DiskFile } from './disk.ts';
import { isOutOfSpace, orUnwritten, type StorageFailure, unwritten } from './storage-failure.ts';

const STEP_BYTES = 1024 * 1024;

export class Ballast {
  readonly #disk: Disk;
  readonly #path: string;
  #file: DiskFile | undefined;
  #heldBytes: number;
  #work: Promise<void> | undefined;
  #failure: StorageFailure | undefined;

  private constructor(disk: Disk, path: string, file: DiskFile | undefined) {
    this.#disk = disk;
    this.#path = path;
    this.#file = file;
    this.#heldBytes = file?.size() ?? 0;
  }

  /** Takes over the ballast that an earlier process made; none is made yet. */
  static open(disk: Disk, path: string, exists: boolean): Ballast {
    return new Ballast(disk, path, exists ? disk.open(path, 'existing') : undefined);
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** A failure other than a full disk, which would only mean that there was no room after all. */
  get failure(): StorageFailure | undefined {
    return this.#failure;
  }

  /**
   * Goes on making it, by `stepCount` steps of 1 MiB at most, off this thread. Does nothing while a call is under way.
   */
  make(targetBytes: number, stepCount: number): void {
    if (this.#work !== undefined || this.#heldBytes >= targetBytes) return;
    this.#work = this.#grow(targetBytes, stepCount).finally(() => {
      this.#work = undefined;
    });
  }

  /** Gives the space back. A step that is under way ends in a file without a name, which is closed behind it. */
  release(): void {
    const file = this.#file;
    if (file === undefined) return;
    this.#file = undefined;
    this.#heldBytes = 0;
    orUnwritten(this.#path, () => this.#disk.remove(this.#path));
    if (this.#work === undefined) file.close();
  }

  async close(): Promise<void> {
    await this.#work;
    this.#file?.close();
    this.#file = undefined;
  }

  async #grow(targetBytes: number, stepCount: number): Promise<void> {
    try {
      this.#file ??= this.#disk.open(this.#path, 'create');
      await this.#write(this.#file, targetBytes, stepCount);
    } catch (error) {
      if (isOutOfSpace(error)) this.#giveUp();
      // Nothing was begun: the next call tries again.
      else if (isOutOfDescriptors(error)) return;
      else this.#failure = unwritten(this.#path, error);
    }
  }

  async #write(file: DiskFile, targetBytes: number, stepCount: number): Promise<void> {
    try {
      const noise = randomFillSync(new Uint8Array(STEP_BYTES));
      for (let step = 0; step < stepCount && this.#heldBytes < targetBytes; step++) {
        const bytes = noise.subarray(0, Math.min(STEP_BYTES, targetBytes - this.#heldBytes));
        await file.writeThrough(bytes, this.#heldBytes);
        if (this.#file !== file) return;
        this.#heldBytes += bytes.length;
      }
    } finally {
      if (this.#file !== file) file.close();
    }
  }

  /** There was no room after all: what was made goes back. */
  #giveUp(): void {
    const file = this.#file;
    try {
      this.release();
      file?.close();
    } catch (error) {
      this.#failure = unwritten(this.#path, error);
    }
  }
}

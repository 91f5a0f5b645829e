// A file of a simulated disk. It has the content that readers see, the content that would survive a power failure, and,
// after a silent fault of the disk, what both would be without the fault. Sectors of 512 bytes are written completely
// or not at all (disk.ts documents the guarantees that the log relies on).
import type { DiskFile } from '../../src/storage/disk.ts';
import { fileError } from './file-names.ts';

export const SECTOR_BYTES = 512;

/** Bytes that grow at the end. */
class Bytes {
  #room: Uint8Array;
  #length: number;

  constructor(bytes: Uint8Array = new Uint8Array(0)) {
    this.#room = bytes;
    this.#length = bytes.length;
  }

  get length(): number {
    return this.#length;
  }

  get view(): Uint8Array {
    return this.#room.subarray(0, this.#length);
  }

  copy(): Bytes {
    return new Bytes(this.view.slice());
  }

  cut(length: number): void {
    this.#room.fill(0, length, this.#length);
    this.#length = Math.min(this.#length, length);
  }

  put(bytes: Uint8Array, at: number): void {
    const end = at + bytes.length;
    if (end > this.#room.length) {
      const more = new Uint8Array(Math.max(end, 2 * this.#room.length));
      more.set(this.view);
      this.#room = more;
    }
    this.#length = Math.max(this.#length, end);
    this.#room.set(bytes, at);
  }
}

interface Content {
  readonly live: Bytes;
  readonly durable: Bytes;
}

export class Inode {
  #found: Content = { live: new Bytes(), durable: new Bytes() };
  /** The content as it was written; it differs from the found content only after a silent fault. */
  #truth: Content = this.#found;
  readonly #dirty = new Set<number>();

  /** A durable copy of the content that readers see. */
  copy(): Inode {
    const copy = new Inode();
    copy.write(this.bytes.slice(), 0);
    copy.sync();
    const { live } = this.#truth;
    if (this.isDamaged) copy.#truth = { live: live.copy(), durable: live.copy() };
    return copy;
  }

  /** A copy of the file with the same unsynced sectors. */
  clone(): Inode {
    const clone = new Inode();
    const copyOf = ({ live, durable }: Content): Content => ({ live: live.copy(), durable: durable.copy() });
    clone.#found = copyOf(this.#found);
    clone.#truth = this.isDamaged ? copyOf(this.#truth) : clone.#found;
    for (const sector of this.#dirty) clone.#dirty.add(sector);
    return clone;
  }

  /** Truncates the file or extends it with zeros, durably. */
  resize(size: number): void {
    const bytes = new Uint8Array(size);
    bytes.set(this.bytes.subarray(0, size));
    this.#found = { live: new Bytes(bytes), durable: new Bytes(bytes.slice()) };
    this.#truth = this.#found;
  }

  get size(): number {
    return this.#found.live.length;
  }

  get bytes(): Uint8Array {
    return this.#found.live.view;
  }

  /** Bytes that survive a power failure. */
  get durable(): Uint8Array {
    return this.#found.durable.view;
  }

  /** The content as it was written. */
  get truth(): Uint8Array {
    return this.#truth.live.view;
  }

  /** True when the disk has another content than was written. */
  get isDamaged(): boolean {
    return this.#truth !== this.#found;
  }

  write(bytes: Uint8Array, at: number): void {
    this.#found.live.put(bytes, at);
    if (this.isDamaged) this.#truth.live.put(bytes, at);
    this.#touch(at, bytes.length);
  }

  /** Removes the end of the file, durably; what stays is as durable as before. */
  truncate(size: number): void {
    for (const { live, durable } of this.#contents()) {
      live.cut(size);
      durable.cut(size);
    }
    for (const sector of this.#dirty) if (sector >= size) this.#dirty.delete(sector);
  }

  /** The disk writes the bytes at a wrong position and reports success. */
  misdirect(bytes: Uint8Array, at: number, to: number): void {
    this.#damage();
    this.#found.live.put(bytes, to);
    this.#truth.live.put(bytes, at);
    this.#touch(at, bytes.length);
    this.#touch(to, bytes.length);
  }

  /** The disk loses the bytes and reports success. */
  lose(bytes: Uint8Array, at: number): void {
    this.#damage();
    this.#truth.live.put(bytes, at);
    this.#touch(at, bytes.length);
  }

  /** The disk flips bits that were written. */
  flip(at: number, mask: number): void {
    this.#damage();
    for (const { view } of [this.#found.live, this.#found.durable]) {
      const bit = view[at];
      if (bit !== undefined) view[at] = bit ^ mask;
    }
  }

  sync(): void {
    this.#settle(() => true);
  }

  /** A failed sync: some sectors reached the disk, and the system treats all of them as written. */
  failSync(survives: (sector: number) => boolean): void {
    this.#settle(survives);
  }

  /** A power failure: each unsynced sector survives or not. */
  losePower(survives: (sector: number) => boolean): void {
    this.#settle(survives);
    const cut = ({ durable }: Content): Content => ({ live: durable.copy(), durable });
    const isDamaged = this.isDamaged;
    const found = cut(this.#found);
    this.#truth = isDamaged ? cut(this.#truth) : found;
    this.#found = found;
  }

  /** Restores the bytes as they were written, like a backup. */
  restore(): void {
    const { live, durable } = this.#truth;
    this.#found = { live, durable: this.#dirty.size === 0 ? live.copy() : durable };
    this.#truth = this.#found;
  }

  #contents(): readonly Content[] {
    return this.isDamaged ? [this.#found, this.#truth] : [this.#found];
  }

  #damage(): void {
    if (this.isDamaged) return;
    const { live, durable } = this.#found;
    this.#truth = { live: live.copy(), durable: durable.copy() };
  }

  #touch(at: number, length: number): void {
    for (let sector = at - (at % SECTOR_BYTES); sector < at + length; sector += SECTOR_BYTES) this.#dirty.add(sector);
  }

  #settle(survives: (sector: number) => boolean): void {
    const contents = this.#contents();
    for (const sector of this.#dirty) {
      if (!survives(sector)) continue;
      for (const { live, durable } of contents) {
        durable.put(live.view.subarray(sector, sector + SECTOR_BYTES), sector);
      }
    }
    this.#dirty.clear();
  }
}

interface FileWrite {
  readonly bytes: Uint8Array;
  readonly at: number;
}

/** Executes the calls of open files. */
export interface FileDisk {
  write(inode: Inode, path: string, bytes: Uint8Array, at: number): void;
  sync(inode: Inode, path: string): void;
  writeThrough(inode: Inode, path: string, write: FileWrite): Promise<void>;
}

export class OpenFile implements DiskFile {
  readonly path: string;
  readonly #inode: Inode;
  readonly #disk: FileDisk;
  #isOpen = true;

  constructor(path: string, inode: Inode, disk: FileDisk) {
    this.path = path;
    this.#inode = inode;
    this.#disk = disk;
  }

  size(): number {
    return this.#inode.size;
  }

  read(into: Uint8Array, at: number): number {
    this.#mustBeOpen();
    const part = this.#inode.bytes.subarray(at, at + into.length);
    into.set(part);
    return part.length;
  }

  write(bytes: Uint8Array, at: number): void {
    this.#mustBeOpen();
    this.#disk.write(this.#inode, this.path, bytes, at);
  }

  sync(): void {
    this.#mustBeOpen();
    this.#disk.sync(this.#inode, this.path);
  }

  async writeThrough(bytes: Uint8Array, at: number): Promise<void> {
    this.#mustBeOpen();
    await this.#disk.writeThrough(this.#inode, this.path, { bytes, at });
  }

  close(): void {
    this.#mustBeOpen();
    this.#isOpen = false;
  }

  #mustBeOpen(): void {
    if (!this.#isOpen) throw fileError('EBADF', this.path);
  }
}

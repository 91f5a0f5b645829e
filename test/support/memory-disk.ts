// A disk in memory that can lose its power: the simulated counterpart of `nodeDisk`, behind the same port.
//
// It promises what disk.ts says that the log relies on, and not a sector more. `afterPowerLoss` is the disk as it may
// look after a power loss right now: each sector written since the last sync of its file is there or not, as the caller
// chooses; so are the changes of names since the last sync of the directory, but in their order.
// `afterProcessDeath` is the disk as the next process on the same machine finds it: everything that was written.
//
// `onStep` is called before each call that changes anything; by throwing, it makes that call fail. A sync that fails
// loses what it was about and takes it for written all the same, as Linux does.
import type { Disk, DiskFile } from '../../src/storage/disk.ts';
import { FileNames, fileError } from './file-names.ts';

const SECTOR_BYTES = 512;

export interface DiskStep {
  readonly kind: 'create' | 'remove' | 'rename' | 'write' | 'sync' | 'sync-directory';
  readonly path: string;
}

/** Decides what of the unsynced survives a power loss. */
export interface Survival {
  sector(path: string, offset: number): boolean;
  /** How many of `count` changes of names survive, from the oldest on. */
  names(count: number): number;
}

export const NOTHING_SURVIVES: Survival = { sector: () => false, names: () => 0 };
export const EVERYTHING_SURVIVES: Survival = { sector: () => true, names: (count) => count };

interface Inode {
  live: Uint8Array;
  durable: Uint8Array;
  readonly dirty: Set<number>;
}

export class MemoryDisk implements Disk {
  onStep: ((step: DiskStep) => void) | undefined;
  readonly #names: FileNames<Inode>;

  constructor(names: FileNames<Inode> = new FileNames()) {
    this.#names = names;
  }

  /** The disk as it may look after a power loss now. */
  afterPowerLoss(survival: Survival): MemoryDisk {
    const names = this.#names.surviving(survival.names(this.#names.unsyncedCount));
    return new MemoryDisk(new FileNames([...names].map(([path, inode]) => [path, survivor(path, inode, survival)])));
  }

  /** The disk as the next process finds it, when only the process died. What was not synced is still not synced. */
  afterProcessDeath(): MemoryDisk {
    const copies = new Map<Inode, Inode>();
    return new MemoryDisk(this.#names.copied((inode) => copies.get(inode) ?? copyInto(copies, inode)));
  }

  /** The content of a file, to look at or to damage. */
  file(path: string): Uint8Array {
    return this.#names.inode(path).live;
  }

  /** Cuts a file, or makes it longer, behind the back of whoever has it open. */
  resize(path: string, size: number): void {
    const inode = this.#names.inode(path);
    const bytes = new Uint8Array(size);
    bytes.set(inode.live.subarray(0, size));
    inode.live = bytes;
    inode.durable = bytes.slice();
  }

  makeDirectory(): void {
    // Directories are only prefixes of names here.
  }

  list(directory: string): readonly string[] {
    return this.#names.inDirectory(directory);
  }

  open(path: string, mode: 'create' | 'existing'): DiskFile {
    if (mode === 'create') {
      if (this.#names.has(path)) throw fileError('EEXIST', path);
      this.#step({ kind: 'create', path });
      this.#names.add(path, { live: new Uint8Array(0), durable: new Uint8Array(0), dirty: new Set() });
    }
    return new MemoryFile(path, this.#names.inode(path), (step) => this.#step(step));
  }

  rename(from: string, to: string): void {
    this.#step({ kind: 'rename', path: to });
    this.#names.rename(from, to);
  }

  remove(path: string): void {
    this.#step({ kind: 'remove', path });
    this.#names.remove(path);
  }

  syncDirectory(path: string): void {
    this.#step({ kind: 'sync-directory', path });
    this.#names.sync();
  }

  #step(step: DiskStep): void {
    this.onStep?.(step);
  }
}

class MemoryFile implements DiskFile {
  readonly path: string;
  readonly #inode: Inode;
  readonly #step: (step: DiskStep) => void;
  #isOpen = true;

  constructor(path: string, inode: Inode, step: (step: DiskStep) => void) {
    this.path = path;
    this.#inode = inode;
    this.#step = step;
  }

  size(): number {
    return this.#inode.live.length;
  }

  read(into: Uint8Array, at: number): number {
    this.#mustBeOpen();
    const part = this.#inode.live.subarray(at, at + into.length);
    into.set(part);
    return part.length;
  }

  write(bytes: Uint8Array, at: number): void {
    this.#mustBeOpen();
    const inode = this.#inode;
    this.#step({ kind: 'write', path: this.path });
    if (at + bytes.length > inode.live.length) {
      const grown = new Uint8Array(at + bytes.length);
      grown.set(inode.live);
      inode.live = grown;
    }
    inode.live.set(bytes, at);
    const first = at - (at % SECTOR_BYTES);
    for (let sector = first; sector < at + bytes.length; sector += SECTOR_BYTES) inode.dirty.add(sector);
  }

  sync(): void {
    this.#mustBeOpen();
    const inode = this.#inode;
    try {
      this.#step({ kind: 'sync', path: this.path });
      inode.durable = withSectors(inode, () => true);
    } finally {
      inode.dirty.clear();
    }
  }

  async writeThrough(bytes: Uint8Array, at: number): Promise<void> {
    await Promise.resolve();
    this.write(bytes, at);
    this.sync();
  }

  close(): void {
    this.#mustBeOpen();
    this.#isOpen = false;
  }

  #mustBeOpen(): void {
    if (!this.#isOpen) throw fileError('EBADF', this.path);
  }
}

function survivor(path: string, inode: Inode, survival: Survival): Inode {
  const live = withSectors(inode, (offset) => survival.sector(path, offset));
  return { live, durable: live.slice(), dirty: new Set() };
}

/** The durable content with the dirty sectors that `survives` lets through. */
function withSectors(inode: Inode, survives: (offset: number) => boolean): Uint8Array {
  const { live, durable } = inode;
  const parts = [...inode.dirty].filter(survives).map((at) => ({ at, end: Math.min(at + SECTOR_BYTES, live.length) }));
  const bytes = new Uint8Array(parts.reduce((size, part) => Math.max(size, part.end), durable.length));
  bytes.set(durable);
  for (const { at, end } of parts) bytes.set(live.subarray(at, end), at);
  return bytes;
}

function copyInto(copies: Map<Inode, Inode>, inode: Inode): Inode {
  const copy: Inode = { live: inode.live.slice(), durable: inode.durable.slice(), dirty: new Set(inode.dirty) };
  copies.set(inode, copy);
  return copy;
}

// A simulated disk that can lose power, behind the same port as `nodeDisk`.
//
// It gives exactly the guarantees that disk.ts documents for the log. `afterPowerLoss` returns the disk after a power
// loss now: for each sector written since the last sync of its file, the caller decides whether it survives; changes of
// names since the last sync of their directory survive as a prefix. `afterProcessDeath` returns the disk for the next
// process on the same machine, with everything that was written.
//
// `onStep` is called before each change, and makes the change fail by throwing. A failed sync loses its data, but
// treats it as written, as Linux does.
import type { Disk, DiskFile } from '../../src/storage/disk.ts';
import { FileNames, fileError } from './file-names.ts';
import { type FileDisk, Inode, OpenFile } from './inode.ts';

export interface DiskStep {
  readonly kind: 'create' | 'remove' | 'rename' | 'write' | 'sync' | 'sync-directory';
  readonly path: string;
}

/** Decides which unsynced data survives a power loss. */
export interface Survival {
  sector(path: string, offset: number): boolean;
  /** Number of the oldest of `count` changes of names that survive. */
  names(count: number): number;
}

export const NOTHING_SURVIVES: Survival = { sector: () => false, names: () => 0 };
export const EVERYTHING_SURVIVES: Survival = { sector: () => true, names: (count) => count };

export class MemoryDisk implements Disk, FileDisk {
  onStep: ((step: DiskStep) => void) | undefined;
  readonly #names: FileNames<Inode>;

  constructor(names: FileNames<Inode> = new FileNames()) {
    this.#names = names;
  }

  /** The disk after a power loss now. */
  afterPowerLoss(survival: Survival): MemoryDisk {
    const names = this.#names.surviving(survival.names(this.#names.unsyncedCount));
    const survivors = [...names].map(([path, inode]) => {
      const survivor = inode.clone();
      survivor.losePower((sector) => survival.sector(path, sector));
      return [path, survivor] as const;
    });
    return new MemoryDisk(new FileNames(survivors));
  }

  /** The disk for the next process when only the process died. Unsynced data stays unsynced. */
  afterProcessDeath(): MemoryDisk {
    const copies = new Map<Inode, Inode>();
    return new MemoryDisk(
      this.#names.copied((inode) => {
        const copy = copies.get(inode) ?? inode.clone();
        copies.set(inode, copy);
        return copy;
      }),
    );
  }

  /** The content of a file, which the test may inspect or damage. */
  file(path: string): Uint8Array {
    return this.#names.inode(path).bytes;
  }

  /** Truncates or extends a file, without notice to a process that has it open. */
  resize(path: string, size: number): void {
    this.#names.inode(path).resize(size);
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
      this.#names.add(path, new Inode());
    }
    return new OpenFile(path, this.#names.inode(path), this);
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

  /** Called by the files of this disk. */
  write(inode: Inode, path: string, bytes: Uint8Array, at: number): void {
    this.#step({ kind: 'write', path });
    inode.write(bytes, at);
  }

  /** Called by the files of this disk. */
  sync(inode: Inode, path: string): void {
    try {
      this.#step({ kind: 'sync', path });
    } catch (failure) {
      inode.failSync(() => false);
      throw failure;
    }
    inode.sync();
  }

  /** Called by the files of this disk. */
  async writeThrough(
    inode: Inode,
    path: string,
    { bytes, at }: { readonly bytes: Uint8Array; readonly at: number },
  ): Promise<void> {
    await Promise.resolve();
    this.write(inode, path, bytes, at);
    this.sync(inode, path);
  }

  #step(step: DiskStep): void {
    this.onStep?.(step);
  }
}

// A simulated disk for segments that can lose power, behind the port of src/storage/segments/segment-disk.ts.
//
// It gives exactly the guarantees that the port documents: after a power loss, sectors that were written since the last
// sync of their file survive or not, one by one, and so do changes of names since the last sync of their directory. A
// file without its directory is lost.
//
// `onStep` is called before each change, and makes the change fail by throwing.
import type { ReadableSegment, SegmentDisk, WritableSegment } from '../../src/storage/segments/segment-disk.ts';
import { fileError } from './file-names.ts';
import { Inode } from './inode.ts';

export interface SegmentStep {
  readonly kind:
    | 'create'
    | 'directory'
    | 'remove'
    | 'rename'
    | 'link'
    | 'write'
    | 'truncate'
    | 'sync'
    | 'sync-directory';
  readonly path: string;
}

/** Decides which unsynced data survives a power loss. */
export interface SegmentSurvival {
  readonly sector: (path: string, offset: number) => boolean;
  /** True if a change of the name survives. */
  readonly name: (path: string) => boolean;
}

type Entry = Inode | 'directory';
type Names = Map<string, Entry>;

interface NameChange {
  readonly directory: string;
  readonly path: string;
  readonly change: (names: Names) => void;
}

export class MemorySegmentDisk implements SegmentDisk {
  onStep: ((step: SegmentStep) => void) | undefined;
  /** Duration of reads on the clock of the test, by the file. It makes a read fail by throwing. */
  onRead: ((path: string, isLater: boolean) => void) | undefined;
  hasLinks = true;
  openCount = 0;
  readonly #names: Names;
  readonly #durable: Names;
  #changes: readonly NameChange[] = [];

  constructor(names: Names = new Map()) {
    this.#names = names;
    this.#durable = new Map(names);
  }

  /** The disk after a power loss now. */
  afterPowerLoss({ sector, name }: SegmentSurvival): MemorySegmentDisk {
    const names = new Map(this.#durable);
    for (const { path, change } of this.#changes) if (name(path)) change(names);
    const survivors = new Map<Entry, Inode>();
    const survivor = (entry: Entry, path: string): Entry => {
      if (entry === 'directory') return entry;
      const known = survivors.get(entry);
      const inode = known ?? entry.clone();
      if (known === undefined) inode.losePower((offset) => sector(path, offset));
      survivors.set(entry, inode);
      return inode;
    };
    const reachable = [...names].filter(([path]) => isReachable(names, path));
    return new MemorySegmentDisk(new Map(reachable.map(([path, entry]) => [path, survivor(entry, path)])));
  }

  /** A disk with everything that is visible on this one, durably. */
  snapshot(): MemorySegmentDisk {
    const copies = new Map<Entry, Inode>();
    const copyOf = (entry: Entry): Entry => {
      if (entry === 'directory') return entry;
      const copy = copies.get(entry) ?? entry.copy();
      copies.set(entry, copy);
      return copy;
    };
    return new MemorySegmentDisk(new Map([...this.#names].map(([path, entry]) => [path, copyOf(entry)])));
  }

  /** Bytes of all files. */
  get byteLength(): number {
    return this.files.reduce((sum, path) => sum + this.#inode(path).size, 0);
  }

  /** Paths of all files, in order. */
  get files(): readonly string[] {
    return [...this.#names].flatMap(([path, entry]) => (entry === 'directory' ? [] : [path])).toSorted();
  }

  /** The content of a file, which the test may inspect or damage. */
  file(path: string): Uint8Array {
    return this.#inode(path).bytes;
  }

  /** Truncates or extends a file durably, without notice to the process. */
  resize(path: string, size: number): void {
    this.#inode(path).resize(size);
  }

  /** Flips these bits of a byte, until `restore`. */
  flip(path: string, at: number, mask: number): void {
    this.#inode(path).flip(at, mask);
  }

  get damagedFiles(): readonly string[] {
    return this.files.filter((path) => this.#inode(path).isDamaged);
  }

  /** Restores damaged files from a backup. */
  restore(): void {
    for (const path of this.damagedFiles) this.#inode(path).restore();
  }

  list(directory: string): readonly string[] {
    const names = [...this.#names.keys()].filter((path) => directoryOf(path) === directory);
    return names.map((path) => path.slice(directory.length + 1));
  }

  async listLater(directory: string): Promise<readonly string[]> {
    return this.list(directory);
  }

  open(path: string): ReadableSegment | undefined {
    const entry = this.#names.get(path);
    if (entry === undefined || entry === 'directory') return undefined;
    this.openCount += 1;
    const read = (into: Uint8Array, at: number, isLater: boolean): number => {
      this.onRead?.(path, isLater);
      return readFrom(entry, into, at);
    };
    const close = (): void => {
      this.openCount -= 1;
    };
    return {
      read: (into, at) => read(into, at, false),
      readLater: async (into, at) => {
        await Promise.resolve();
        return read(into, at, true);
      },
      size: () => entry.size,
      close,
      [Symbol.dispose]: close,
    };
  }

  async openLater(path: string): Promise<ReadableSegment | undefined> {
    await Promise.resolve();
    return this.open(path);
  }

  async openToWrite(path: string, mode: 'create' | 'existing'): Promise<WritableSegment> {
    if (mode === 'create') {
      if (this.#names.has(path)) throw diskError('EEXIST', path);
      if (this.#names.get(directoryOf(path)) !== 'directory') throw diskError('ENOENT', path);
      this.onStep?.({ kind: 'create', path });
      const inode = new Inode();
      this.#change(path, (names) => names.set(path, inode));
    }
    const inode = this.#inode(path);
    this.openCount += 1;
    const close = async (): Promise<void> => {
      this.openCount -= 1;
    };
    return {
      read: async (into, at) => {
        this.onRead?.(path, true);
        return readFrom(inode, into, at);
      },
      write: async (bytes, at) => {
        this.onStep?.({ kind: 'write', path });
        inode.write(bytes, at);
      },
      truncate: async (size) => {
        this.onStep?.({ kind: 'truncate', path });
        inode.truncate(size);
      },
      sync: () => this.#sync(inode, path),
      close,
      [Symbol.asyncDispose]: close,
    };
  }

  async stat(path: string): Promise<{ readonly size: number; readonly nlink: number }> {
    const inode = this.#inode(path);
    return { size: inode.size, nlink: [...this.#names.values()].filter((each) => each === inode).length };
  }

  async makeDirectory(path: string): Promise<void> {
    if (this.#names.has(path)) return;
    this.onStep?.({ kind: 'directory', path });
    this.#change(path, (names) => names.set(path, 'directory'));
  }

  async removeDirectory(path: string): Promise<void> {
    if (this.list(path).length > 0) throw diskError('ENOTEMPTY', path);
    await this.remove(path);
  }

  async remove(path: string): Promise<void> {
    if (!this.#names.has(path)) throw diskError('ENOENT', path);
    this.onStep?.({ kind: 'remove', path });
    this.#change(path, (names) => names.delete(path));
  }

  async rename(from: string, to: string): Promise<void> {
    const inode = this.#inode(from);
    this.onStep?.({ kind: 'rename', path: to });
    this.#change(to, (names) => {
      names.delete(from);
      names.set(to, inode);
    });
  }

  async copy(from: string, to: string): Promise<void> {
    if (this.#names.has(to)) await this.remove(to);
    const file = await this.openToWrite(to, 'create');
    await file.write(this.#inode(from).bytes.slice(), 0);
    await file.close();
  }

  async link(from: string, to: string): Promise<boolean> {
    const inode = this.#inode(from);
    if (!this.hasLinks) return false;
    this.onStep?.({ kind: 'link', path: to });
    this.#change(to, (names) => names.set(to, inode));
    return true;
  }

  async syncFile(path: string): Promise<void> {
    await this.#sync(this.#inode(path), path);
  }

  async syncDirectory(path: string): Promise<void> {
    this.onStep?.({ kind: 'sync-directory', path });
    for (const { directory, change } of this.#changes) if (directory === path) change(this.#durable);
    this.#changes = this.#changes.filter(({ directory }) => directory !== path);
  }

  async #sync(inode: Inode, path: string): Promise<void> {
    try {
      this.onStep?.({ kind: 'sync', path });
    } catch (failure) {
      inode.failSync(() => false);
      throw failure;
    }
    inode.sync();
  }

  #change(path: string, change: (names: Names) => void): void {
    change(this.#names);
    this.#changes = [...this.#changes, { directory: directoryOf(path), path, change }];
  }

  #inode(path: string): Inode {
    const entry = this.#names.get(path);
    if (entry === undefined || entry === 'directory') throw diskError('ENOENT', path);
    return entry;
  }
}

/** Whether the directories above are there; the first one always is. */
function isReachable(names: Names, path: string): boolean {
  const directory = directoryOf(path);
  return !directory.includes('/') || (names.get(directory) === 'directory' && isReachable(names, directory));
}

function readFrom({ bytes }: Inode, into: Uint8Array, at: number): number {
  const part = bytes.subarray(at, at + into.length);
  into.set(part);
  return part.length;
}

function directoryOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

function diskError(code: string, path: string): Error {
  return Object.assign(fileError(code, path), { syscall: 'injected' });
}

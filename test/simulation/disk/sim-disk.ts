// The simulated disk of one node, behind the port of the log (src/storage/disk.ts), with all faults of disks: lost and
// torn writes after a power failure, failed writes and syncs, short writes, a full disk, slow syncs, bit flips, and
// misdirected writes.
//
// It outlives the process of its node. Faults are armed in advance with a number of calls, so that a crash can happen
// between any two calls.
import type { LogPlaces } from '../../../src/cluster/store/next-log.ts';
import type { Disk, DiskFile } from '../../../src/storage/disk.ts';
import { FileNames, fileError } from '../../support/file-names.ts';
import { type FileDisk, Inode, OpenFile, SECTOR_BYTES } from '../../support/inode.ts';
import type { Rng } from '../engine/random.ts';
import { DiskLog, sectorsOfSegment } from '../invariants/disk-log.ts';

export type StepKind = 'create' | 'remove' | 'rename' | 'write' | 'sync' | 'sync-directory';

/** Faults of a call. `cut`: the machine or process ends within the call. */
export type Mishap = 'cut' | 'error' | 'short' | 'misdirect' | 'lose';

export interface Armed {
  readonly mishap: Mishap;
  /** Only calls of these kinds count; absent: all. */
  readonly kinds?: readonly StepKind[];
  /** Calls count after a successful call of this kind; absent: immediately. */
  readonly since?: StepKind;
  /** Only calls on files whose name contains this text count; absent: all. */
  readonly path?: string;
  /** Number of successful calls before the fault. */
  readonly after: number;
}

/** Error code of failed calls. */
export type ThrownCode = 'EIO' | 'ENOSPC';

export interface DiskWorld {
  /** Called when the process of the node ends within a call. */
  readonly onCut: () => void;
  /** Waits in the calling thread. */
  readonly sleep: (delayUs: number) => Promise<void>;
}

const SYNC_US_MEAN = 300;
const LATE_SECTORS = 8;
const LOST_SLOWNESS = 1000;

export class SimDisk implements Disk, FileDisk {
  readonly #names: FileNames<Inode>;
  #world: DiskWorld | undefined;
  readonly #random: Rng;
  #armed: { readonly plan: Armed; left: number; hasBegun: boolean } | undefined;
  /** Factor by which the disk is slower than usual. */
  slowness = 1;
  /** True while no write of the log completes. */
  isStalled = false;
  /** Bytes available to the node: its files plus free space. */
  capacityBytes: number = Number.POSITIVE_INFINITY;
  /** Bytes of the store, which shares the disk. */
  storeBytes = 0;
  /** The durable content of the log. */
  readonly held: DiskLog = new DiskLog();
  readonly #seen: (bytes: Uint8Array) => void;
  #hasLied = false;
  #hasLost = false;
  readonly #thrown = new WeakMap<object, ThrownCode>();
  /** Lost names, with their files. */
  readonly #gone = new Map<string, Inode>();
  /** True after the process has ended: the rest of its last call has no effect. */
  #isCut = false;

  /** `seen` receives all written bytes, regardless of faults. */
  constructor(
    random: Rng,
    seen: (bytes: Uint8Array) => void = () => undefined,
    names: FileNames<Inode> = new FileNames<Inode>(),
  ) {
    this.#random = random;
    this.#seen = seen;
    this.#names = names;
  }

  /** A disk with the visible content of this one. It counts as a lying disk, because its content is older. */
  copy(random: Rng): SimDisk {
    const names = this.#names.copied((inode) => inode.copy());
    names.sync();
    const copy = new SimDisk(random, this.#seen, names);
    copy.#hasLied = true;
    return copy;
  }

  get availableBytes(): number {
    let used = this.storeBytes;
    for (const inode of this.#names.inodes()) used += inode.size;
    return Math.max(0, this.capacityBytes - used);
  }

  get isDamaged(): boolean {
    return this.damagedFiles.length > 0;
  }

  /** Files with another content than was written, and lost files. */
  get damagedFiles(): readonly string[] {
    const spoiled = [...this.#names].filter(([, inode]) => inode.isDamaged).map(([path]) => path);
    return [...spoiled, ...this.#gone.keys()];
  }

  /** True if the disk ever had another content than was written or reported as written. */
  get hasLied(): boolean {
    return this.#hasLied;
  }

  /** True when a call of the disk has failed with this error. */
  hasThrown(error: unknown, code: ThrownCode): boolean {
    return error instanceof Error && this.#thrown.get(error) === code;
  }

  /** Called when a process starts to use the disk. */
  attach(world: DiskWorld): void {
    this.#world = world;
    this.#isCut = false;
  }

  arm(plan: Armed | undefined): void {
    this.#armed = plan && { plan, left: plan.after, hasBegun: plan.since === undefined };
  }

  /** Draws the duration of a write with its sync. */
  drawSyncUs(): number {
    return this.#random.exponential(SYNC_US_MEAN) * this.slowness;
  }

  /** Simulates a power failure: a share of the unsynced data survives, and a prefix of the changes of names. */
  losePower(share: number): void {
    this.takeLost();
    const count = this.#random.between(0, this.#names.unsyncedCount);
    this.#names.keepOnly(share === 0 ? 0 : count);
    for (const inode of this.#names.inodes()) inode.losePower(() => this.#random.chance(share));
  }

  /** Flips a bit in a file whose name contains `part`. Returns its position, or undefined without such a file. */
  flip(part: string): string | undefined {
    const written = [...this.#names].filter(([path, { size }]) => path.includes(part) && size > 0);
    // A restart needs the last written file.
    const isLate = this.#random.chance(0.5);
    const found = isLate ? written.at(-1) : this.#random.pickFrom(written);
    if (found === undefined) return undefined;
    const [path, inode] = found;
    const sectors = path.endsWith('.wal') ? sectorsOfSegment(inode.bytes) : writtenSectors(inode);
    const sector = this.#random.pickFrom(isLate ? sectors.slice(-LATE_SECTORS) : sectors) ?? 0;
    const at = sector + this.#random.between(0, SECTOR_BYTES - 1);
    this.#hasLied = true;
    inode.flip(at, 1 << this.#random.between(0, 7));
    return `${path} at ${at}`;
  }

  /** Loses the name of a segment in the middle of the log and returns it; no process must have the log open. */
  loseSegment(): string | undefined {
    const segments = [...this.#names].filter(([path]) => path.endsWith('.wal')).toSorted(byName);
    const found = this.#random.pickFrom(segments.slice(1, -1));
    if (found === undefined) return undefined;
    const [path, inode] = found;
    this.#hasLied = true;
    this.#gone.set(path, inode);
    this.#names.lose(path);
    return path;
  }

  /** Returns a function that restores the file as it was written so far, durably. */
  backUp(path: string): () => void {
    const bytes = this.#names.has(path) ? this.#names.inode(path).truth.slice() : undefined;
    return () => {
      this.#names.lose(path);
      if (bytes === undefined) return;
      const inode = new Inode();
      inode.write(bytes, 0);
      inode.sync();
      this.#names.regain(path, inode);
    };
  }

  /** True when a write was silently lost since the previous call; the next note of the guard is then durable. */
  takeLost(): boolean {
    const hasLost = this.#hasLost;
    this.#hasLost = false;
    if (hasLost) for (const [path, inode] of this.#names) if (path.endsWith('guard')) inode.sync();
    return hasLost;
  }

  /** Restores everything that the disk has damaged, from a backup. The node is down. */
  restore(): void {
    for (const inode of this.#names.inodes()) if (inode.isDamaged) inode.restore();
    for (const [path, inode] of this.#gone) this.#names.regain(path, inode);
    this.#gone.clear();
  }

  /** Directory entries, for operations that replace the log. */
  get places(): LogPlaces {
    return {
      has: (path) => this.#names.inDirectory(path).length > 0,
      list: (directory) => [...new Set(this.#names.inDirectory(directory).map((path) => path.replace(/\/.*/, '')))],
      rename: (from, to) => {
        this.#step('rename', to);
        this.#names.renameDirectory(from, to);
      },
      remove: (path) => {
        this.#step('remove', path);
        this.#names.removeDirectory(path);
      },
      syncDirectory: (path) => this.syncDirectory(path),
    };
  }

  get segmentCount(): number {
    return [...this.#names].filter(([path]) => path.endsWith('.wal')).length;
  }

  /** Content of the segments of the log, as a reader sees it. */
  *segments(): Iterable<Uint8Array> {
    for (const [path, inode] of this.#names) if (path.endsWith('.wal')) yield inode.bytes;
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
      this.#step('create', path);
      this.#names.add(path, new Inode());
    }
    return new OpenFile(path, this.#names.inode(path), this);
  }

  rename(from: string, to: string): void {
    this.#step('rename', to);
    this.#names.rename(from, to);
  }

  remove(path: string): void {
    this.#step('remove', path);
    this.#names.remove(path);
  }

  syncDirectory(path: string): void {
    this.#step('sync-directory', path);
    this.#names.sync();
    for (const [each, inode] of this.#names) this.#note(inode, each);
  }

  /** Called by the files of this disk. */
  write(inode: Inode, path: string, bytes: Uint8Array, at: number): void {
    this.#seen(bytes);
    const mishap = this.#step('write', path);
    const room = this.availableBytes;
    const grows = Math.max(0, at + bytes.length - inode.size);
    if (grows > room || mishap === 'short') {
      // Systems write whole blocks, so a short write ends at a sector boundary.
      const end = at + Math.min(bytes.length - grows + room, bytes.length) / 2;
      inode.write(bytes.subarray(0, Math.max(0, end - (end % SECTOR_BYTES) - at)), at);
      throw this.#failed('ENOSPC', path);
    }
    this.#hasLied ||= mishap === 'misdirect' || mishap === 'lose';
    if (mishap === 'misdirect') inode.misdirect(bytes, at, this.#elsewhere(inode, bytes.length, at));
    else if (mishap === 'lose') {
      inode.lose(bytes, at);
      this.#hasLost = true;
      // Slow, so that the lost write stays the last one of its file for a while: a later write would reveal the gap.
      this.slowness = LOST_SLOWNESS;
    } else inode.write(bytes, at);
  }

  /** Called by the files of this disk. */
  sync(inode: Inode, path: string): void {
    try {
      this.#step('sync', path);
    } catch (failure) {
      inode.failSync(() => this.#random.chance(0.5));
      throw failure;
    }
    inode.sync();
    this.#note(inode, path);
  }

  /** A segment counts once its name is also durable. */
  #note(inode: Inode, path: string): void {
    if (path.endsWith('.wal') && this.#names.durable(path) === inode) this.held.synced(inode, inode.durable);
  }

  /** Called by the files of this disk. */
  async writeThrough(
    inode: Inode,
    path: string,
    write: { readonly bytes: Uint8Array; readonly at: number },
  ): Promise<void> {
    await this.#world?.sleep(this.drawSyncUs());
    this.write(inode, path, write.bytes, write.at);
    await this.#world?.sleep(this.drawSyncUs());
    this.sync(inode, path);
  }

  /** A random other sector of the same file. */
  #elsewhere(inode: Inode, length: number, at: number): number {
    const sectors = Math.floor((inode.size - length) / SECTOR_BYTES);
    const to = this.#random.between(0, Math.max(0, sectors)) * SECTOR_BYTES;
    return to === at ? (to + SECTOR_BYTES) % Math.max(SECTOR_BYTES, inode.size) : to;
  }

  #step(kind: StepKind, path: string): Mishap | undefined {
    if (this.#isCut) throw fileError('EIO', path);
    const armed = this.#armed;
    if (armed?.hasBegun === false) {
      armed.hasBegun = armed.plan.since === kind;
      return undefined;
    }
    if (armed === undefined || armed.plan.kinds?.includes(kind) === false) return undefined;
    if (armed.plan.path !== undefined && !path.includes(armed.plan.path)) return undefined;
    armed.left -= 1;
    if (armed.left >= 0) return undefined;
    this.#armed = undefined;
    const { mishap } = armed.plan;
    if (mishap === 'cut') {
      this.#isCut = true;
      this.#world?.onCut();
    }
    if (mishap === 'cut') throw fileError('EIO', path);
    if (mishap === 'error') throw this.#failed('EIO', path);
    return mishap;
  }

  #failed(code: ThrownCode, path: string): Error {
    const error = fileError(code, path);
    this.#thrown.set(error, code);
    return error;
  }
}

/** Offsets of the sectors that are not all zero. */
function writtenSectors(inode: Inode): readonly number[] {
  const offsets: number[] = [];
  for (let at = 0; at < inode.size; at += SECTOR_BYTES) {
    if (inode.bytes.subarray(at, at + SECTOR_BYTES).some((byte) => byte !== 0)) offsets.push(at);
  }
  return offsets;
}

function byName([one]: readonly [string, Inode], [other]: readonly [string, Inode]): number {
  return one < other ? -1 : 1;
}

// The simulated disk of one node, behind the port of the log (src/storage/disk.ts), with everything that disks do to
// those who trust them: lost and torn writes when the power goes, failed writes and syncs, writes cut short, a full
// disk, slow syncs, flipped bits, writes that end up in the wrong place.
//
// It outlives the process of its node. What it does of its own accord is armed beforehand, with the number of calls
// after which it happens, so that a crash can come between any two of them.
import type { LogPlaces } from '../../../src/cluster/store/next-log.ts';
import type { Disk, DiskFile } from '../../../src/storage/disk.ts';
import { FileNames, fileError } from '../../support/file-names.ts';
import { type FileDisk, Inode, OpenFile, SECTOR_BYTES } from '../../support/inode.ts';
import type { Rng } from '../engine/random.ts';
import { DiskLog } from '../invariants/disk-log.ts';

export type StepKind = 'create' | 'remove' | 'rename' | 'write' | 'sync' | 'sync-directory';

/** What the disk will do to a call. `cut`: the machine, or the process, ends there. */
export type Mishap = 'cut' | 'error' | 'short' | 'misdirect' | 'lose';

export interface Armed {
  readonly mishap: Mishap;
  /** Only calls of these kinds count; absent: all. */
  readonly kinds?: readonly StepKind[];
  /** Calls count once one of this kind has gone well; absent: at once. */
  readonly since?: StepKind;
  /** Only calls on files whose name contains this count; absent: all. */
  readonly path?: string;
  /** The calls that go well before. */
  readonly after: number;
}

/** By which its calls fail. */
export type ThrownCode = 'EIO' | 'ENOSPC';

export interface DiskWorld {
  /** The process of the node ends within a call. */
  readonly onCut: () => void;
  /** Waits in the thread that the call was made by. */
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
  /** How much slower than usual the disk is. */
  slowness = 1;
  /** No write of the log comes to an end. */
  isStalled = false;
  /** Bytes that fit on the disk beside what is in use by others. */
  capacityBytes: number = Number.POSITIVE_INFINITY;
  /** Bytes of the store, which shares the disk. */
  storeBytes = 0;
  /** What it holds durably of a log. */
  readonly held: DiskLog = new DiskLog();
  readonly #seen: (bytes: Uint8Array) => void;
  #hasLied = false;
  #hasLost = false;
  readonly #thrown = new WeakMap<object, ThrownCode>();
  /** Names that are gone, and what they were of. */
  readonly #gone = new Map<string, Inode>();
  /** The process has ended: what its last call still has on the stack does nothing any more. */
  #isCut = false;

  /** `seen` is shown what is written, whatever becomes of it. */
  constructor(
    random: Rng,
    seen: (bytes: Uint8Array) => void = () => undefined,
    names: FileNames<Inode> = new FileNames<Inode>(),
  ) {
    this.#random = random;
    this.#seen = seen;
    this.#names = names;
  }

  /** A disk with what a reader sees on this one. It has lied to whoever takes it for this one. */
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

  /** Those of which it has something else than what was written, and those that it has no more. */
  get damagedFiles(): readonly string[] {
    const spoiled = [...this.#names].filter(([, inode]) => inode.isDamaged).map(([path]) => path);
    return [...spoiled, ...this.#gone.keys()];
  }

  /** Whether it has ever had something else than what was written, or said to be. */
  get hasLied(): boolean {
    return this.#hasLied;
  }

  /** Whether a call of the disk has failed by this error. */
  hasThrown(error: unknown, code: ThrownCode): boolean {
    return error instanceof Error && this.#thrown.get(error) === code;
  }

  /** A process begins to use the disk. */
  attach(world: DiskWorld): void {
    this.#world = world;
    this.#isCut = false;
  }

  arm(plan: Armed | undefined): void {
    this.#armed = plan && { plan, left: plan.after, hasBegun: plan.since === undefined };
  }

  /** How long a write and its sync take now. */
  drawSyncUs(): number {
    return this.#random.exponential(SYNC_US_MEAN) * this.slowness;
  }

  /** The power goes: of what was not synced a share survives; of changed names, those up to some moment. */
  losePower(share: number): void {
    this.takeLost();
    const count = this.#random.between(0, this.#names.unsyncedCount);
    this.#names.keepOnly(share === 0 ? 0 : count);
    for (const inode of this.#names.inodes()) inode.losePower(() => this.#random.chance(share));
  }

  /** Flips one bit somewhere in a file whose name contains the part; says where, or that there was none. */
  flip(part: string): string | undefined {
    const written = [...this.#names].filter(([path, { size }]) => path.includes(part) && size > 0);
    // What was written last is what a restart still needs.
    const isLate = this.#random.chance(0.5);
    const found = isLate ? written.at(-1) : this.#random.pickFrom(written);
    if (found === undefined) return undefined;
    const [path, inode] = found;
    const sectors = writtenSectors(inode);
    const sector = this.#random.pickFrom(isLate ? sectors.slice(-LATE_SECTORS) : sectors) ?? 0;
    const at = sector + this.#random.between(0, SECTOR_BYTES - 1);
    this.#hasLied = true;
    inode.flip(at, 1 << this.#random.between(0, 7));
    return `${path} at ${at}`;
  }

  /** Loses the name of a segment in the middle of the log, and returns it; no process has the log open. */
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

  /** Whether a write was silently lost since the last call; then the guard's next note is durable. */
  takeLost(): boolean {
    const hasLost = this.#hasLost;
    this.#hasLost = false;
    if (hasLost) for (const [path, inode] of this.#names) if (path.endsWith('guard')) inode.sync();
    return hasLost;
  }

  /** Everything that the disk got wrong by itself is put right from a backup. The node is down. */
  restore(): void {
    for (const inode of this.#names.inodes()) if (inode.isDamaged) inode.restore();
    for (const [path, inode] of this.#gone) this.#names.regain(path, inode);
    this.#gone.clear();
  }

  /** What is under a name, as what changes one log for another sees it. */
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

  /** The segments of the log, as they would be read now. */
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

  /** For the files of this disk. */
  write(inode: Inode, path: string, bytes: Uint8Array, at: number): void {
    this.#seen(bytes);
    const mishap = this.#step('write', path);
    const room = this.availableBytes;
    const grows = Math.max(0, at + bytes.length - inode.size);
    if (grows > room || mishap === 'short') {
      // A system fills whole blocks: what is cut short ends with a sector.
      const end = at + Math.min(bytes.length - grows + room, bytes.length) / 2;
      inode.write(bytes.subarray(0, Math.max(0, end - (end % SECTOR_BYTES) - at)), at);
      throw this.#failed('ENOSPC', path);
    }
    this.#hasLied ||= mishap === 'misdirect' || mishap === 'lose';
    if (mishap === 'misdirect') inode.misdirect(bytes, at, this.#elsewhere(inode, bytes.length, at));
    else if (mishap === 'lose') {
      inode.lose(bytes, at);
      this.#hasLost = true;
      // So long that what was lost is the last of its file for a while: behind a later write a gap would show.
      this.slowness = LOST_SLOWNESS;
    } else inode.write(bytes, at);
  }

  /** For the files of this disk. */
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

  /** A segment counts as soon as its name outlives a power failure, too. */
  #note(inode: Inode, path: string): void {
    if (path.endsWith('.wal') && this.#names.durable(path) === inode) this.held.synced(inode, inode.durable);
  }

  /** For the files of this disk. */
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

  /** Another sector of the same file. */
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

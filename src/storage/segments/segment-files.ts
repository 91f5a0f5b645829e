/** The segment files that one isolate reads: those of each group, and a bounded number of open descriptors. */
import type { GroupId } from '#base';
import { type ReadClock, ReadTimes } from './read-times.ts';
import type { ReadableSegment, SegmentDisk } from './segment-disk.ts';
import { BLOCK_BYTES, groupName, readHeader, segmentBases, segmentName } from './segment-format.ts';

export interface SegmentFilesOptions {
  /** Directory with one directory for each group. */
  readonly directory: string;
  readonly disk: SegmentDisk;
  readonly clock: ReadClock;
}

const OPEN_FILES_MAX = 64;
const GROUPS_MAX = 1024;

/** Why bytes of a segment cannot be used. */
export interface SegmentFault {
  readonly text: string;
  /** The bytes are not there, as opposed to other ones. */
  readonly isMissing: boolean;
}

export function missing(text: string): SegmentFault {
  return { text, isMissing: true };
}

export function damaged(text: string): SegmentFault {
  return { text, isMissing: false };
}

/** One segment of a history. Its descriptor is opened when it is read, and may be closed between two reads. */
export class SegmentFile {
  readonly name: string;
  /** Position of its first byte. */
  readonly base: number;
  usedAt = 0;
  readonly #path: string;
  readonly #options: SegmentFilesOptions;
  readonly #onOpened: (file: SegmentFile) => void;
  readonly #times: ReadTimes;
  #file: SharedFile | undefined;

  constructor(directory: string, base: number, options: SegmentFilesOptions, onOpened: (file: SegmentFile) => void) {
    this.name = segmentName(base);
    this.base = base;
    this.#path = `${directory}/${this.name}`;
    this.#options = options;
    this.#onOpened = onOpened;
    this.#times = new ReadTimes(options.clock);
  }

  /** True when a read on the thread probably waits for the disk. */
  get isCold(): boolean {
    return this.#times.isCold;
  }

  /** Reads on this thread; returns how many bytes there were. */
  read(into: Uint8Array, at: number): number | SegmentFault {
    return this.#times.timed(() => this.#readNow(into, at));
  }

  /** The same off this thread. */
  async readLater(into: Uint8Array, at: number): Promise<number | SegmentFault> {
    const file = this.#file?.shared() ?? (await this.#openLater());
    if (!(file instanceof SharedFile)) return file;
    return file.readLater(into, at).finally(() => file.release());
  }

  close(): void {
    this.#file?.release();
    this.#file = undefined;
  }

  #readNow(into: Uint8Array, at: number): number | SegmentFault {
    if (this.#file === undefined) {
      const opened = this.#options.disk.open(this.#path);
      if (opened === undefined) return missing(`there is no file ${this.#path}`);
      const header = new Uint8Array(BLOCK_BYTES);
      const fault = this.#faultIn(header, opened.read(header, 0));
      if (fault === undefined) this.#adopt(opened);
      else opened.close();
      if (fault !== undefined) return fault;
    }
    return this.#file?.read(into, at) ?? 0;
  }

  /** The descriptor, for one more user. */
  async #openLater(): Promise<SharedFile | SegmentFault> {
    const opened = await this.#options.disk.openLater(this.#path);
    if (opened === undefined) return missing(`there is no file ${this.#path}`);
    const header = new Uint8Array(BLOCK_BYTES);
    const count = await opened.readLater(header, 0).catch((failure: unknown) => {
      opened.close();
      throw failure;
    });
    const fault = this.#faultIn(header, count);
    if (fault === undefined && this.#file === undefined) return this.#adopt(opened).shared();
    opened.close();
    return fault ?? this.#file?.shared() ?? missing(`${this.#path} is closed`);
  }

  #adopt(opened: ReadableSegment): SharedFile {
    const file = new SharedFile(opened);
    this.#file = file;
    this.#onOpened(this);
    return file;
  }

  #faultIn(header: Uint8Array, count: number): SegmentFault | undefined {
    if (count < header.length) return missing(`${this.#path} has no whole header`);
    const start = readHeader(header);
    if (typeof start === 'string') return damaged(`${this.#path} cannot be read: ${start}`);
    if (start.position === this.base) return undefined;
    return damaged(`the header of ${this.#path} has position ${start.position}`);
  }
}

/** A descriptor that is closed by the last of its users: reads off the thread may outlast its place among the open. */
class SharedFile {
  readonly #file: ReadableSegment;
  #users = 1;

  constructor(file: ReadableSegment) {
    this.#file = file;
  }

  read(into: Uint8Array, at: number): number {
    return this.#file.read(into, at);
  }

  readLater(into: Uint8Array, at: number): Promise<number> {
    return this.#file.readLater(into, at);
  }

  shared(): this {
    this.#users += 1;
    return this;
  }

  release(): void {
    this.#users -= 1;
    if (this.#users === 0) this.#file.close();
  }
}

export class SegmentFiles {
  readonly #options: SegmentFilesOptions;
  readonly #groups = new Map<GroupId, readonly SegmentFile[]>();
  #open: SegmentFile[] = [];
  #uses = 0;

  constructor(options: SegmentFilesOptions) {
    this.#options = options;
  }

  /** Segments of the group as they were found, in order. */
  of(group: GroupId): readonly SegmentFile[] {
    const known = this.#groups.get(group);
    if (known !== undefined) return known;
    const directory = `${this.#options.directory}/${groupName(group)}`;
    const bases = segmentBases(this.#options.disk.list(directory));
    const files = bases.map((base) => new SegmentFile(directory, base, this.#options, (file) => this.#opened(file)));
    // A group without segments may get some.
    if (files.length > 0) this.#groups.set(group, files);
    const [oldest] = this.#groups.keys();
    if (oldest !== undefined && this.#groups.size > GROUPS_MAX) this.forget(oldest);
    return files;
  }

  /** Notes that a file is used, so that others are closed before it. */
  use(file: SegmentFile): SegmentFile {
    file.usedAt = ++this.#uses;
    return file;
  }

  /** The files of the group are looked for again. */
  forget(group: GroupId): void {
    const files = this.#groups.get(group);
    if (files === undefined) return;
    this.#groups.delete(group);
    const forgotten = new Set(files);
    this.#open = this.#open.filter((file) => !forgotten.has(file));
    for (const file of files) file.close();
  }

  /** Every read has ended. */
  close(): void {
    for (const file of this.#open) file.close();
    this.#open = [];
    this.#groups.clear();
  }

  #opened(file: SegmentFile): void {
    this.#open.push(this.use(file));
    if (this.#open.length <= OPEN_FILES_MAX) return;
    const idlest = this.#open.reduce((one, other) => (other.usedAt < one.usedAt ? other : one));
    this.#open = this.#open.filter((each) => each !== idlest);
    idlest.close();
  }
}

/** The segment files that one thread reads: those of each group, and a bounded number of open descriptors. */
import { caught, type GroupId, whenDone } from '#base';
import { openSegmentsMax } from '../basis/descriptors.ts';
import { type ReadClock, ReadTimes } from './read-times.ts';
import type { ReadableSegment, SegmentDisk } from './segment-disk.ts';
import {
  BLOCK_BYTES,
  damaged,
  groupName,
  missing,
  readHeader,
  type SegmentFault,
  segmentBases,
  segmentName,
} from './segment-format.ts';

export interface SegmentFilesOptions {
  /** Directory with one directory for each group. */
  readonly directory: string;
  readonly disk: SegmentDisk;
  readonly clock: ReadClock;
}

const OPEN_FILES_MAX = openSegmentsMax();
const GROUPS_MAX = 1024;

/** Number of bytes that were read. */
export type Count = number | SegmentFault;

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

  /** Reads on this thread, or off it; returns how many bytes there were. */
  read(isLater: boolean, into: Uint8Array, at: number): Count | Promise<Count> {
    const read = (): Count | Promise<Count> =>
      whenDone(this.#file?.shared() ?? this.#open(isLater), (file) =>
        file instanceof SharedFile ? file.read(isLater, into, at) : file,
      );
    return isLater ? read() : this.#times.timed(read);
  }

  close(): void {
    this.#file?.release();
    this.#file = undefined;
  }

  /** The descriptor, for one more user. */
  #open(isLater: boolean): SharedFile | SegmentFault | Promise<SharedFile | SegmentFault> {
    const { disk } = this.#options;
    return whenDone(isLater ? disk.openLater(this.#path) : disk.open(this.#path), (opened) => {
      if (opened === undefined) return missing(`there is no file ${this.#path}`);
      const file = new SharedFile(opened);
      const header = new Uint8Array(BLOCK_BYTES);
      const count = caught(
        () => file.shared().read(isLater, header, 0),
        (failure) => {
          file.release();
          throw failure;
        },
      );
      return whenDone(count, (bytes) => this.#adopted(file, this.#faultIn(header, bytes)));
    });
  }

  #adopted(file: SharedFile, fault: SegmentFault | undefined): SharedFile | SegmentFault {
    // Another read may have opened it meanwhile.
    if (fault !== undefined || this.#file !== undefined) file.release();
    if (fault !== undefined) return fault;
    if (this.#file === undefined) {
      this.#file = file;
      this.#onOpened(this);
    }
    return this.#file.shared();
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

  /** Reads for one of its users, which does not use it any more. */
  read(isLater: boolean, into: Uint8Array, at: number): number | Promise<number> {
    if (isLater) return this.#file.readLater(into, at).finally(() => this.release());
    try {
      return this.#file.read(into, at);
    } finally {
      this.release();
    }
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

  /** Segments of the group as they were found, in order; undefined when nothing was looked for. */
  of(group: GroupId): readonly SegmentFile[] | undefined {
    return this.#groups.get(group);
  }

  lookFor(group: GroupId): readonly SegmentFile[] {
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

/**
 * The port for the few operations of a file system that segments need: the node's own files, or a simulated disk that
 * loses unsynced bytes. Everything that changes a file is asynchronous: a slow disk must not stall the core's thread.
 *
 * Segments rely on the following, and no more:
 *   - after `sync` returned, the size of that file and the bytes written to it before survive a power loss;
 *   - after `syncDirectory` returned, so do the names in it;
 *   - before that, any subset of the written sectors of 512 bytes may have survived, each of them whole.
 */
import {
  closeSync,
  constants,
  fstatSync,
  open as openLater,
  openSync,
  readdirSync,
  read as readLater,
  readSync,
} from 'node:fs';
import { copyFile, type FileHandle, link, mkdir, open, readdir, rename, rmdir, stat, unlink } from 'node:fs/promises';
import { caught, ignoring } from '#base';
import { patientlyAwait } from '../basis/descriptors.ts';
import { BLOCK_BYTES } from './segment-format.ts';

/** A file that is open for reading. */
export interface ReadableSegment extends Disposable {
  /** The bytes `[at, at + into.length)`, on this thread; returns how many there were. */
  read(into: Uint8Array, at: number): number;
  /** Like `read`, but off this thread. */
  readLater(into: Uint8Array, at: number): Promise<number>;
  size(): number;
  close(): void;
}

/** A file that is open for reading and writing. */
export interface WritableSegment extends AsyncDisposable {
  read(into: Uint8Array, at: number): Promise<number>;
  /** Writes all of the bytes at the offset. */
  write(bytes: Uint8Array, at: number): Promise<void>;
  truncate(bytes: number): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Paths that are missing: `list` returns nothing, `open` undefined, and everything else throws. `list` and `open` do
 * not wait for a free descriptor: that would stop the thread which has to close some.
 */
export interface SegmentDisk {
  list(directory: string): readonly string[];
  listLater(directory: string): Promise<readonly string[]>;
  open(path: string): ReadableSegment | undefined;
  openLater(path: string): Promise<ReadableSegment | undefined>;
  /** With `create` the file must not exist. */
  openToWrite(path: string, mode: 'create' | 'existing'): Promise<WritableSegment>;
  stat(path: string): Promise<{ readonly size: number; readonly nlink: number }>;
  /** A directory that exists stays as it is. */
  makeDirectory(path: string): Promise<void>;
  removeDirectory(path: string): Promise<void>;
  remove(path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  copy(from: string, to: string): Promise<void>;
  /** A second name; false where the file system has none. */
  link(from: string, to: string): Promise<boolean>;
  syncFile(path: string): Promise<void>;
  syncDirectory(path: string): Promise<void>;
}

/** File systems without hard links, and files with as many as they may have. */
const NO_LINKS: ReadonlySet<unknown> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EXDEV']);

/** Returns whether the error says that a file or directory is missing. */
export function isMissing(failure: unknown): boolean {
  return hasCode(failure, 'ENOENT');
}

const IGNORING_MISSING = ignoring(isMissing);

/** The last two are checksums of file systems that fail. */
const UNREADABLE: ReadonlySet<unknown> = new Set(['EIO', 'EUCLEAN', 'EBADMSG']);

/** Returns whether a read failed because the disk has lost the bytes. They count as damaged. */
export function isUnreadable(failure: unknown): failure is Error {
  const isRead = failure instanceof Error && 'syscall' in failure && failure.syscall === 'read';
  return isRead && 'code' in failure && UNREADABLE.has(failure.code);
}

/** The file system of this machine. */
export const nodeSegmentDisk: SegmentDisk = {
  list: (directory) => caught(() => readdirSync(directory), IGNORING_MISSING) ?? [],
  listLater: async (directory) => (await patientlyAwait(() => readdir(directory)).catch(IGNORING_MISSING)) ?? [],
  open: (path) => caught(() => new NodeReadable(openSync(path, 'r')), IGNORING_MISSING),
  openLater: async (path) => {
    const descriptor = await patientlyAwait(() => openFile(path)).catch(IGNORING_MISSING);
    return descriptor === undefined ? undefined : new NodeReadable(descriptor);
  },
  openToWrite: async (path, mode) =>
    new NodeWritable(await patientlyAwait(() => open(path, mode === 'create' ? 'wx+' : 'r+'))),
  stat,
  makeDirectory: async (path) => {
    await mkdir(path).catch((failure: unknown) => {
      if (!hasCode(failure, 'EEXIST')) throw failure;
    });
  },
  removeDirectory: rmdir,
  remove: unlink,
  rename,
  copy: (from, to) => patientlyAwait(() => copyFile(from, to, constants.COPYFILE_FICLONE)),
  link: async (from, to) => {
    try {
      await link(from, to);
      return true;
    } catch (failure) {
      if (failure instanceof Error && 'code' in failure && NO_LINKS.has(failure.code)) return false;
      throw failure;
    }
  },
  syncFile: (path) => syncPath(path, (file) => file.datasync()),
  syncDirectory: (path) => syncPath(path, (file) => file.sync()),
};

class NodeReadable implements ReadableSegment {
  readonly #descriptor: number;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  read(into: Uint8Array, at: number): number {
    let done = 0;
    while (done < into.length) {
      const count = readSync(this.#descriptor, into, done, into.length - done, at + done);
      if (count === 0) break;
      done += count;
    }
    return done;
  }

  async readLater(into: Uint8Array, at: number): Promise<number> {
    let done = 0;
    while (done < into.length) {
      const count = await this.#readSome(into, done, at + done);
      if (count === 0) break;
      done += count;
    }
    return done;
  }

  size(): number {
    return fstatSync(this.#descriptor).size;
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #readSome(into: Uint8Array, from: number, at: number): Promise<number> {
    return new Promise((resolve, reject) => {
      readLater(this.#descriptor, into, from, into.length - from, at, (error, count) =>
        error === null ? resolve(count) : reject(error),
      );
    });
  }
}

class NodeWritable implements WritableSegment {
  readonly #file: FileHandle;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  async read(into: Uint8Array, at: number): Promise<number> {
    let done = 0;
    while (done < into.length) {
      const { bytesRead } = await this.#file.read(into, done, into.length - done, at + done);
      if (bytesRead === 0) break;
      done += bytesRead;
    }
    return done;
  }

  async write(bytes: Uint8Array, at: number): Promise<void> {
    for (let done = 0; done < bytes.length; ) {
      // A write may be cut short by a full disk; the next one then reports it.
      done += (await this.#file.write(bytes, done, bytes.length - done, at + done)).bytesWritten;
    }
  }

  truncate(bytes: number): Promise<void> {
    return this.#file.truncate(bytes);
  }

  sync(): Promise<void> {
    return this.#file.datasync();
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function openFile(path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    openLater(path, 'r', (error, descriptor) => (error === null ? resolve(descriptor) : reject(error)));
  });
}

async function syncPath(path: string, sync: (file: FileHandle) => Promise<void>): Promise<void> {
  await using file = await patientlyAwait(() => open(path, 'r'));
  await sync(file);
}

/** A block of a file; undefined when the file ends before its end, or the disk cannot read it. */
export async function readBlock(disk: SegmentDisk, path: string, block: number): Promise<Uint8Array | undefined> {
  const bytes = new Uint8Array(BLOCK_BYTES);
  await using file = await disk.openToWrite(path, 'existing');
  const count = await file.read(bytes, block * BLOCK_BYTES).catch(ignoring(isUnreadable));
  return count === BLOCK_BYTES ? bytes : undefined;
}

function hasCode(failure: unknown, code: string): boolean {
  return failure instanceof Error && 'code' in failure && failure.code === code;
}

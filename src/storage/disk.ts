/**
 * The port for the few operations of a file system that the log needs: the node's own files, or a simulated disk that
 * loses unsynced bytes.
 *
 * Everything is synchronous except the two methods that prepare a spare segment in the background. Every failure
 * throws; nothing is retried here.
 *
 * The log relies on the following, and no more:
 *   - after `sync` returned, the bytes written to that file before it survive a power loss;
 *   - after `syncDirectory` returned, so do the names in it;
 *   - before that, any subset of the sectors written may have survived, each of them whole.
 */
import {
  closeSync,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  unlinkSync,
  write,
  writeSync,
} from 'node:fs';
import { patiently } from './basis/descriptors.ts';

export interface DiskFile {
  readonly path: string;
  size(): number;
  /** The bytes `[at, at + into.length)`; answers how many there were. */
  read(into: Uint8Array, at: number): number;
  /** Writes all of the bytes at the offset. */
  write(bytes: Uint8Array, at: number): void;
  sync(): void;
  /** Like `write` and then `sync`, but off this thread. No other call may touch the file until it resolves. */
  writeThrough(bytes: Uint8Array, at: number): Promise<void>;
  close(): void;
}

export interface Disk {
  makeDirectory(path: string): void;
  list(directory: string): readonly string[];
  /** Opens a file for reading and writing. With `create` it must not exist, without it it must. */
  open(path: string, mode: 'create' | 'existing'): DiskFile;
  rename(from: string, to: string): void;
  remove(path: string): void;
  syncDirectory(path: string): void;
}

/** The file system of this machine. */
const nodeDisk: Disk = {
  makeDirectory: (path) => {
    mkdirSync(path, { recursive: true });
  },
  list: (directory) => readdirSync(directory),
  open: (path, mode) => new NodeFile(path, openSync(path, mode === 'create' ? 'wx+' : 'r+')),
  rename: renameSync,
  remove: unlinkSync,
  syncDirectory: (path) => {
    const descriptor = openSync(path, 'r');
    try {
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  },
};

/** The same, for the log: opening a file is retried (descriptors.ts). */
export const patientDisk: Disk = {
  ...nodeDisk,
  list: (directory) => patiently(() => nodeDisk.list(directory)),
  open: (path, mode) => patiently(() => nodeDisk.open(path, mode)),
  // Only its open can be out of descriptors, and that comes before its sync.
  syncDirectory: (path) => patiently(() => nodeDisk.syncDirectory(path)),
};

class NodeFile implements DiskFile {
  readonly path: string;
  readonly #descriptor: number;

  constructor(path: string, descriptor: number) {
    this.path = path;
    this.#descriptor = descriptor;
  }

  size(): number {
    return fstatSync(this.#descriptor).size;
  }

  read(into: Uint8Array, at: number): number {
    let done = 0;
    while (done < into.length) {
      const count = readSync(this.#descriptor, into, done, into.length - done, at + done);
      if (count === 0) return done;
      done += count;
    }
    return done;
  }

  write(bytes: Uint8Array, at: number): void {
    // A write may be cut short by a full disk; the next one then says so.
    for (let done = 0; done < bytes.length; ) {
      done += writeSync(this.#descriptor, bytes, done, bytes.length - done, at + done);
    }
  }

  sync(): void {
    fdatasyncSync(this.#descriptor);
  }

  async writeThrough(bytes: Uint8Array, at: number): Promise<void> {
    for (let done = 0; done < bytes.length; ) done += await this.#writeSome(bytes, done, at + done);
    await new Promise<void>((resolve, reject) => {
      fdatasync(this.#descriptor, (error) => (error === null ? resolve() : reject(error)));
    });
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  async #writeSome(bytes: Uint8Array, from: number, at: number): Promise<number> {
    return new Promise((resolve, reject) => {
      write(this.#descriptor, bytes, from, bytes.length - from, at, (error, count) =>
        error === null ? resolve(count) : reject(error),
      );
    });
  }
}

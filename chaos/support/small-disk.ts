/**
 * A disk of a few megabytes for one node: a tmpfs in its own mount namespace, which ends with this process in any case.
 * Inside a user namespace, mounting needs no privileges.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MOUNT = 'mount -t tmpfs -o "size=$2" cairn "$1" && echo mounted && exec cat';
const STEP_BYTES = 256 * 1024;

export class SmallDisk implements AsyncDisposable {
  /** Path of the disk for processes started with `under`. */
  readonly path: string;
  readonly #holder: ChildProcess;

  private constructor(path: string, holder: ChildProcess) {
    this.path = path;
    this.#holder = holder;
  }

  static async mount(bytes: number): Promise<SmallDisk> {
    const path = mkdtempSync(join(tmpdir(), 'cairn-disk-'));
    const namespace = ['--mount', '--user', '--map-root-user'];
    const shell = ['sh', '-ec', MOUNT, 'sh', path, String(bytes)];
    // The process ends when its stdin is closed, which also happens when this process ends.
    const holder = spawn('unshare', [...namespace, ...shell], { stdio: ['pipe', 'pipe', 'inherit'] });
    const outcome = await Promise.race([once(holder.stdout, 'data'), once(holder, 'exit')]);
    if (holder.exitCode !== null) throw new Error(`a tmpfs could not be mounted: exit code ${String(outcome[0])}`);
    return new SmallDisk(path, holder);
  }

  /** Command prefix that runs a program in the namespace of the disk. */
  get under(): readonly string[] {
    return ['nsenter', `--target=${this.#holder.pid}`, '--user', '--mount', '--preserve-credentials', '--'];
  }

  /** Path of the same directory outside the namespace. */
  get outside(): string {
    return `/proc/${this.#holder.pid}/root${this.path}`;
  }

  get availableBytes(): number {
    const { bavail, bsize } = statfsSync(this.outside);
    return bavail * bsize;
  }

  /**
   * Creates a file that leaves `availableBytes` of the currently available space. Space that is freed meanwhile stays
   * free.
   */
  fillUpTo(availableBytes: number, name = 'somebody-else'): void {
    const noise = new Uint8Array(STEP_BYTES);
    for (let left = this.availableBytes - availableBytes; left > 0; left -= noise.length) {
      try {
        writeFileSync(join(this.outside, name), noise.subarray(0, Math.min(left, STEP_BYTES)), { flag: 'a' });
      } catch (failure) {
        if (failure instanceof Error && 'code' in failure && failure.code === 'ENOSPC') return;
        throw failure;
      }
    }
  }

  /** Removes the file. */
  empty(name = 'somebody-else'): void {
    rmSync(join(this.outside, name), { force: true });
  }

  /** Creates a directory on the disk and returns its path inside the namespace. */
  directory(name: string): string {
    mkdirSync(join(this.outside, name), { recursive: true });
    return join(this.path, name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#holder.stdin?.end();
    if (this.#holder.exitCode === null) await once(this.#holder, 'exit');
    rmSync(this.path, { recursive: true, force: true });
  }
}

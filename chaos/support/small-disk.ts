/**
 * A disk of a few megabytes that a node can have for itself: a tmpfs in a mount namespace of its own, which goes when
 * this process does, whatever happens. Inside a user namespace everybody may mount.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MOUNT = 'mount -t tmpfs -o "size=$2" cairn "$1" && echo mounted && exec cat';
const STEP_BYTES = 256 * 1024;

export class SmallDisk implements AsyncDisposable {
  /** Where a process that runs `under` finds it. */
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
    // It lives as long as its stdin is open, that is as long as this process.
    const holder = spawn('unshare', [...namespace, ...shell], { stdio: ['pipe', 'pipe', 'inherit'] });
    const outcome = await Promise.race([once(holder.stdout, 'data'), once(holder, 'exit')]);
    if (holder.exitCode !== null) throw new Error(`a tmpfs could not be mounted: exit code ${String(outcome[0])}`);
    return new SmallDisk(path, holder);
  }

  /** The command that runs another one where the disk is. */
  get under(): readonly string[] {
    return ['nsenter', `--target=${this.#holder.pid}`, '--user', '--mount', '--preserve-credentials', '--'];
  }

  /** The same place, as this process sees it. */
  get outside(): string {
    return `/proc/${this.#holder.pid}/root${this.path}`;
  }

  get availableBytes(): number {
    const { bavail, bsize } = statfsSync(this.outside);
    return bavail * bsize;
  }

  /** Puts a file on it that leaves `availableBytes` of what is available now: what is freed meanwhile stays free. */
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

  /** Takes the file away again. */
  empty(name = 'somebody-else'): void {
    rmSync(join(this.outside, name), { force: true });
  }

  /** Makes a directory on it and answers its path inside. */
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

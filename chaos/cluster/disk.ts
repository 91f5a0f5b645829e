/**
 * The disk of a node in a run: a tmpfs of a few hundred megabytes that can be filled up, or a plain directory where
 * mounting is not allowed.
 */
import { mkdirSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './namespaces.ts';

const ROOT = '/run/cairn';
const FILLER = 'somebody-else';

export class Disk {
  readonly path: string;

  /** True when the disk is a file system of its own. */
  readonly isOwn: boolean;

  private constructor(path: string, isOwn: boolean) {
    this.path = path;
    this.isOwn = isOwn;
  }

  /** Creates a directory on the file system of `parent`. */
  static share(parent: string, name: string): Disk {
    const path = join(parent, name);
    mkdirSync(path);
    return new Disk(path, false);
  }

  /** Mounts a tmpfs. The mount namespace must have its own /run. */
  static async mount(name: string, bytes: number): Promise<Disk> {
    const path = join(ROOT, name);
    mkdirSync(path, { recursive: true });
    await run('mount', '-t', 'tmpfs', '-o', `size=${bytes}`, name, path);
    return new Disk(path, true);
  }

  get dataDir(): string {
    return join(this.path, 'data');
  }

  /** Fills the disk with a file that leaves `leftBytes` free. */
  async fill(leftBytes: number): Promise<void> {
    const { bavail, bsize } = statfsSync(this.path);
    const bytes = bavail * bsize - leftBytes;
    if (bytes <= 0) return;
    // The node may write at the same time, so the file may get less; that is enough.
    await run('fallocate', '-l', String(bytes), join(this.path, FILLER)).catch(() => undefined);
  }

  /** Deletes the data directory, so that the next node starts empty. */
  wipe(): void {
    rmSync(this.dataDir, { recursive: true, force: true });
  }

  empty(): void {
    rmSync(join(this.path, FILLER), { force: true });
  }
}

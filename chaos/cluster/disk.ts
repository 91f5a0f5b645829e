/**
 * The disk of a node in a run: a file system of a few hundred megabytes in memory, which others may fill, or a plain
 * directory where file systems cannot be mounted.
 */
import { mkdirSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './namespaces.ts';

const ROOT = '/run/cairn';
const FILLER = 'somebody-else';

export class Disk {
  readonly path: string;

  /** Whether it is a file system of its own. */
  readonly isOwn: boolean;

  private constructor(path: string, isOwn: boolean) {
    this.path = path;
    this.isOwn = isOwn;
  }

  /** A part of the disk that the directory is on. */
  static share(parent: string, name: string): Disk {
    const path = join(parent, name);
    mkdirSync(path);
    return new Disk(path, false);
  }

  /** Mounts it, in a world whose /run is its own. */
  static async mount(name: string, bytes: number): Promise<Disk> {
    const path = join(ROOT, name);
    mkdirSync(path, { recursive: true });
    await run('mount', '-t', 'tmpfs', '-o', `size=${bytes}`, name, path);
    return new Disk(path, true);
  }

  get dataDir(): string {
    return join(this.path, 'data');
  }

  /** Somebody else takes all but so many bytes of what is free. */
  async fill(leftBytes: number): Promise<void> {
    const { bavail, bsize } = statfsSync(this.path);
    const bytes = bavail * bsize - leftBytes;
    if (bytes <= 0) return;
    // The node may have taken some of it meanwhile: then what was got is kept.
    await run('fallocate', '-l', String(bytes), join(this.path, FILLER)).catch(() => undefined);
  }

  /** The node that comes next finds nothing. */
  wipe(): void {
    rmSync(this.dataDir, { recursive: true, force: true });
  }

  empty(): void {
    rmSync(join(this.path, FILLER), { force: true });
  }
}

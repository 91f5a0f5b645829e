/** The disk of a node in a run: a file system of a few hundred megabytes in memory, which others may fill. */
import { mkdirSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './namespaces.ts';

const ROOT = '/run/cairn';
const FILLER = 'somebody-else';

export class Disk {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** Mounts it, in a world whose /run is its own. */
  static async mount(name: string, bytes: number): Promise<Disk> {
    const path = join(ROOT, name);
    mkdirSync(path, { recursive: true });
    await run('mount', '-t', 'tmpfs', '-o', `size=${bytes}`, name, path);
    return new Disk(path);
  }

  get dataDir(): string {
    return join(this.path, 'data');
  }

  /** What everything on it takes. */
  get usedBytes(): number {
    const { blocks, bfree, bsize } = statfsSync(this.path);
    return (blocks - bfree) * bsize;
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

/**
 * An object store in a directory. Names are paths below it.
 *
 * ```
 * put     write a file beside it, sync ── rename ──────> sync the directory
 * create  write a file beside it, sync ── link, unlink ─> sync the directory     link refuses a name that exists
 * ```
 * A crash may leave a file of the first step, whose name begins with `.partial-`; it is no object. The next process
 * that writes to its folder removes it, once it is older than any write.
 *
 * The directory itself is not made: while the disk with it is not mounted, nothing is written to another disk.
 */
import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, link, mkdir, open, readdir, rename, stat, unlink } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import type { ObjectContent, ObjectStore } from '#archive';
import { DatabaseError, ignoring } from '#base';

const CHUNK_BYTES = 256 * 1024;
const PARTIAL = '.partial-';
/** A write changes its file more often than this. */
const PARTIAL_MS_MAX = 3_600_000;
const IGNORING_MISSING = ignoring((failure) => hasCode(failure, 'ENOENT'));

export class DirectoryStore implements ObjectStore {
  readonly #root: string;
  /** Folders that exist durably, unless a write has failed since. */
  readonly #folders = new Set<string>();

  constructor(root: string) {
    this.#root = resolve(root);
  }

  async get(name: string): Promise<ObjectContent | undefined> {
    const path = this.#pathOf(name);
    const byteLength = await sizeOf(path);
    if (byteLength === undefined) return undefined;
    return { byteLength, chunks: () => createReadStream(path, { highWaterMark: CHUNK_BYTES }) };
  }

  size(name: string): Promise<number | undefined> {
    return sizeOf(this.#pathOf(name));
  }

  async put(name: string, content: ObjectContent): Promise<void> {
    const path = this.#pathOf(name);
    await this.#write(path, content, (partial) => rename(partial, path));
  }

  async create(name: string, content: ObjectContent): Promise<boolean> {
    const path = this.#pathOf(name);
    let isNew = true;
    await this.#write(path, content, async (partial) => {
      isNew = await linkNew(partial, path);
      await unlink(partial);
    });
    return isNew;
  }

  async list(prefix: string): Promise<readonly string[]> {
    const folder = this.#pathOf(prefix.slice(0, prefix.lastIndexOf('/') + 1));
    const found = (await readdir(folder, { recursive: true, withFileTypes: true }).catch(IGNORING_MISSING)) ?? [];
    const files = found.filter((each) => each.isFile() && !each.name.startsWith(PARTIAL));
    const names = files.map(({ parentPath, name }) =>
      relative(this.#root, join(parentPath, name)).replaceAll(sep, '/'),
    );
    return names.filter((name) => name.startsWith(prefix)).toSorted();
  }

  async remove(name: string): Promise<void> {
    await unlink(this.#pathOf(name)).catch(IGNORING_MISSING);
  }

  #pathOf(name: string): string {
    if (name.split('/').includes('..')) throw new DatabaseError('internal', `"${name}" is no name of an object`);
    return join(this.#root, name);
  }

  /** Writes a file beside the path, and makes what `place` does with it durable. */
  async #write(path: string, content: ObjectContent, place: (partial: string) => Promise<void>): Promise<void> {
    const folder = dirname(path);
    await this.#makeFolder(folder);
    const partial = join(folder, `${PARTIAL}${randomUUID()}`);
    try {
      await writeSynced(partial, content);
      await place(partial);
    } catch (failure) {
      this.#folders.clear();
      await unlink(partial).catch(IGNORING_MISSING);
      throw failure;
    }
    await syncDirectory(folder);
  }

  /** With its parents, durably: another process may have made it a moment ago. */
  async #makeFolder(path: string): Promise<void> {
    if (this.#folders.has(path)) return;
    if ((await stat(this.#root).catch(IGNORING_MISSING)) === undefined) {
      throw new DatabaseError('unavailable', `directory ${this.#root} does not exist: make it, or mount its disk`);
    }
    await mkdir(path, { recursive: true });
    for (let at = path; at !== this.#root; at = dirname(at)) await syncDirectory(dirname(at));
    this.#folders.add(path);
    await removeLeftovers(path);
  }
}

async function removeLeftovers(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const found = name.startsWith(PARTIAL) ? await stat(path).catch(IGNORING_MISSING) : undefined;
    if (found !== undefined && Date.now() - found.mtimeMs > PARTIAL_MS_MAX) await unlink(path).catch(IGNORING_MISSING);
  }
}

async function writeSynced(path: string, content: ObjectContent): Promise<void> {
  await using file = await open(path, 'wx');
  let bytes = 0;
  for await (const chunk of content.chunks()) {
    await writeAll(file, chunk);
    bytes += chunk.length;
  }
  if (bytes !== content.byteLength) {
    throw new DatabaseError('internal', `${path} got ${bytes} bytes, and ${content.byteLength} would be right`);
  }
  await file.sync();
}

async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length; ) done += (await file.write(bytes, done)).bytesWritten;
}

/** Returns false when the name is taken. */
async function linkNew(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (failure) {
    if (hasCode(failure, 'EEXIST')) return false;
    if (!hasCode(failure, 'EPERM') && !hasCode(failure, 'ENOTSUP')) throw failure;
    const reason = `the file system of ${to} has no hard links, which an archive in a directory needs`;
    throw new DatabaseError('internal', `${reason}; use another directory`, { cause: failure });
  }
}

async function syncDirectory(path: string): Promise<void> {
  await using directory = await open(path, 'r');
  await directory.sync();
}

async function sizeOf(path: string): Promise<number | undefined> {
  const found = await stat(path).catch(IGNORING_MISSING);
  return found?.isFile() === true ? found.size : undefined;
}

function hasCode(failure: unknown, code: string): boolean {
  return failure instanceof Error && 'code' in failure && failure.code === code;
}

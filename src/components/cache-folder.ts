/**
 * A folder of files that can be computed again: each file is intact or missing.
 *
 * ```
 * file      sha-256 of the rest, 32 bytes | u16le length of the name | name | content
 * name      group_more: letters, digits, dots and dashes
 * ```
 * A file is written under another name and renamed, without a sync. A file that was truncated by a crash, damaged, or
 * renamed has a wrong digest; it is removed when it is read. When the folder is full, the least recently used file is
 * evicted. A disk error only costs the file, and nothing is written to an almost full disk. Content without a file is
 * kept in memory while there is room, and so is content that was used recently, or was added recently and is small.
 *
 *   F1  A read from a cache returns the content that was put under that name, or nothing.
 *   F2  The files of a cache use at most `bytesMax`, and their copies in memory at most `memoryBytesMax`.
 */
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { assert, ByteReader, compareBytes, concatBytes, encodeUtf8 } from '#base';
import { sha256 } from './digest.ts';

export interface CacheFolderOptions {
  readonly path: string;
  readonly bytesMax: number;
  readonly memoryBytesMax: number;
  /** False: the disk is almost full, and nothing is written. Default: always true. */
  readonly mayWrite?: () => boolean;
}

export interface CacheFigures {
  readonly files: number;
  readonly bytes: number;
  readonly memoryBytes: number;
  /** Number of damaged files. */
  readonly damaged: number;
  /** Number of files that were not written. */
  readonly refused: number;
}

const NAME = /^[0-9a-z]+_[0-9A-Za-z._-]+$/;
const DIGEST_BYTES = 32;
const HEAD_BYTES = DIGEST_BYTES + 2;
const UNFINISHED = '.part';
/** Copying up to this size is cheaper than a second write. */
const JOINED_BYTES_MAX = 65_536;
/** Limit for unread content with a file: a large component may be published here and never used. */
const UNREAD_BYTES_MAX = 16 * 2 ** 20;

export class CacheFolder {
  readonly #options: CacheFolderOptions;
  /** Sizes of files by name, the least recently used first. */
  readonly #files: Map<string, number> = new Map();
  readonly #groups: Map<string, Set<string>> = new Map();
  /** Content in memory, in the same order. */
  readonly #held: Map<string, Uint8Array> = new Map();
  #bytes = 0;
  #memoryBytes = 0;
  #damaged = 0;
  #refused = 0;
  #unfinished = 0;

  private constructor(options: CacheFolderOptions) {
    this.#options = options;
  }

  /** The folder must have no other writer. */
  static async open(options: CacheFolderOptions): Promise<CacheFolder> {
    const folder = new CacheFolder(options);
    const found = await folder.#list();
    await Promise.all(found.filter((name) => name.endsWith(UNFINISHED)).map((name) => folder.#remove(name)));
    const sizes = await Promise.all(
      found.filter((name) => NAME.test(name) && !name.endsWith(UNFINISHED)).map((name) => folder.#sizeOf(name)),
    );
    for (const { name, bytes } of sizes.toSorted((a, b) => a.usedMs - b.usedMs)) folder.#add(name, bytes);
    await folder.#makeRoom();
    return folder;
  }

  figures(): CacheFigures {
    return {
      files: this.#files.size,
      bytes: this.#bytes,
      memoryBytes: this.#memoryBytes,
      damaged: this.#damaged,
      refused: this.#refused,
    };
  }

  /** Returns the names of a group, which is the part before the underscore; the least recently used first. */
  named(group: string): readonly string[] {
    return [...(this.#groups.get(group) ?? [])];
  }

  /** Returns whether the content is in memory. */
  holds(name: string): boolean {
    return this.#held.has(name);
  }

  async get(name: string): Promise<Uint8Array | undefined> {
    const bytes = this.#files.get(name);
    if (bytes !== undefined) this.#add(name, bytes);
    const held = this.#held.get(name);
    if (held !== undefined) {
      this.#hold(name, held);
      return held;
    }
    if (bytes === undefined) return undefined;
    const read = await readFile(this.#pathOf(name)).catch(noFile);
    const content = read === undefined ? undefined : await contentOf(name, asBytes(read));
    if (content !== undefined) {
      if (this.#files.has(name)) this.#hold(name, content);
      return content;
    }
    this.#damaged++;
    await this.drop(name);
    return undefined;
  }

  /** The caller must not change the bytes afterwards. */
  async put(name: string, content: Uint8Array): Promise<void> {
    assert(NAME.test(name), 'A cached file has a name of letters and digits with a group', name);
    const { bytesMax, mayWrite } = this.#options;
    if (mayWrite?.() === false) {
      this.#refused++;
      this.#hold(name, content);
      return;
    }
    const bytes = HEAD_BYTES + name.length + content.length;
    if (bytes > bytesMax) {
      this.#hold(name, content);
      return;
    }
    const unfinished = this.#pathOf(`${this.#unfinished++}${UNFINISHED}`);
    try {
      await writeWhole(unfinished, await headOf(name, content), content);
      await rename(unfinished, this.#pathOf(name));
    } catch (error) {
      noFile(error);
      this.#refused++;
      this.#hold(name, content);
      await rm(unfinished, { force: true }).catch(noFile);
      return;
    }
    this.#add(name, bytes);
    if (content.length <= UNREAD_BYTES_MAX) this.#hold(name, content);
    else this.#release(name);
    await this.#makeRoom();
  }

  async drop(name: string): Promise<void> {
    this.#forget(name);
    await this.#remove(name);
  }

  /** Empty when the folder cannot be created: everything put there is refused and counted. */
  async #list(): Promise<readonly string[]> {
    const { path } = this.#options;
    try {
      await mkdir(path, { recursive: true });
      return await readdir(path);
    } catch (error) {
      noFile(error);
      return [];
    }
  }

  async #makeRoom(): Promise<void> {
    while (this.#bytes > this.#options.bytesMax) {
      const [oldest] = this.#files.keys();
      assert(oldest !== undefined, 'What takes bytes has a name');
      await this.drop(oldest);
    }
  }

  #add(name: string, bytes: number): void {
    this.#bytes += bytes - (this.#files.get(name) ?? 0);
    this.#files.delete(name);
    this.#files.set(name, bytes);
    const group = this.#groups.get(groupOf(name)) ?? new Set();
    group.delete(name);
    group.add(name);
    this.#groups.set(groupOf(name), group);
  }

  #forget(name: string): void {
    this.#bytes -= this.#files.get(name) ?? 0;
    this.#files.delete(name);
    this.#release(name);
    const group = this.#groups.get(groupOf(name));
    group?.delete(name);
    if (group?.size === 0) this.#groups.delete(groupOf(name));
  }

  #hold(name: string, content: Uint8Array): void {
    this.#release(name);
    if (content.length > this.#options.memoryBytesMax) return;
    this.#held.set(name, content);
    this.#memoryBytes += content.length;
    for (const oldest of this.#held.keys()) {
      if (this.#memoryBytes <= this.#options.memoryBytesMax) return;
      this.#release(oldest);
    }
  }

  #release(name: string): void {
    this.#memoryBytes -= this.#held.get(name)?.length ?? 0;
    this.#held.delete(name);
  }

  async #sizeOf(name: string): Promise<{ name: string; bytes: number; usedMs: number }> {
    const { size, mtimeMs } = await stat(this.#pathOf(name));
    return { name, bytes: size, usedMs: mtimeMs };
  }

  async #remove(name: string): Promise<void> {
    await rm(this.#pathOf(name), { force: true }).catch(noFile);
  }

  #pathOf(name: string): string {
    return join(this.#options.path, name);
  }
}

function groupOf(name: string): string {
  return name.slice(0, name.indexOf('_'));
}

/** Header of a file; the content is not copied. */
async function headOf(name: string, content: Uint8Array): Promise<Uint8Array> {
  const head = new Uint8Array(HEAD_BYTES + name.length);
  new DataView(head.buffer).setUint16(DIGEST_BYTES, name.length, true);
  head.set(encodeUtf8(name), HEAD_BYTES);
  head.set(await sha256(head.subarray(DIGEST_BYTES), content));
  return head;
}

async function writeWhole(path: string, head: Uint8Array, content: Uint8Array): Promise<void> {
  if (content.length <= JOINED_BYTES_MAX) return writeFile(path, concatBytes([head, content]));
  await using file = await open(path, 'w');
  await file.writeFile(head);
  await file.writeFile(content);
}

async function contentOf(name: string, file: Uint8Array): Promise<Uint8Array | undefined> {
  const reader = new ByteReader(file);
  const digest = reader.bytes(DIGEST_BYTES);
  const found = reader.utf8(reader.u8() + reader.u8() * 256);
  if (reader.failed || found !== name) return undefined;
  const isWhole = compareBytes(digest, await sha256(file.subarray(DIGEST_BYTES))) === 0;
  return isWhole ? reader.bytes(reader.left) : undefined;
}

/** Converts a `Buffer` to a plain `Uint8Array` of the same bytes. */
function asBytes({ buffer, byteOffset, length }: Buffer<ArrayBuffer>): Uint8Array {
  return new Uint8Array(buffer, byteOffset, length);
}

/** Treats errors of the file system as a missing file; other errors are bugs and are thrown. */
function noFile(error: unknown): undefined {
  if (error instanceof Error && 'code' in error) return undefined;
  throw error;
}

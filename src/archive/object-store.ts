/**
 * The port of an object store: whole objects with names. A directory can do this, and so can S3 and services like it.
 *
 * Any call may fail; whether it was carried out is unknown then. `get`, `size` and `create` see the result of every
 * call that has ended; only `list` may be stale.
 */
import { concatBytes } from '#base';

/** Bytes that are read in chunks, because an object may have 64 MiB. */
export interface ObjectContent {
  readonly byteLength: number;
  /** SHA-256 in hexadecimal digits, where it is known. */
  readonly sha256?: string;
  /** Content that is to be written can be read several times; content that `get` returned, once. */
  chunks(): AsyncIterable<Uint8Array>;
}

export interface ObjectStore {
  /** Undefined when there is no such object. */
  get(name: string): Promise<ObjectContent | undefined>;
  /** Number of bytes; undefined when there is no such object. */
  size(name: string): Promise<number | undefined>;
  /**
   * Writes an object, or replaces it: readers see the old one or the new one, also after a crash. A failure may leave a
   * part of an object that is new.
   */
  put(name: string, content: ObjectContent): Promise<void>;
  /** Writes an object whole, or not at all: false when it exists. Of several callers one gets true. */
  create(name: string, content: ObjectContent): Promise<boolean>;
  /** Names that begin with the prefix, in order. Names that were added or removed recently may be wrong. */
  list(prefix: string): Promise<readonly string[]>;
  /** An object that does not exist is no fault. */
  remove(name: string): Promise<void>;
}

/** An incremental SHA-256. */
export interface Hash {
  update(bytes: Uint8Array): void;
  /** Called once, at the end: 64 hexadecimal digits. */
  hex(): string;
}

export type NewHash = () => Hash;

export function contentOf(bytes: Uint8Array): ObjectContent {
  return {
    byteLength: bytes.length,
    async *chunks() {
      yield bytes;
    },
  };
}

export async function bytesOf(content: ObjectContent): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const chunk of content.chunks()) parts.push(chunk);
  return concatBytes(parts);
}

export async function hashOf(newHash: NewHash, content: ObjectContent): Promise<string> {
  const hash = newHash();
  for await (const chunk of content.chunks()) hash.update(chunk);
  return hash.hex();
}

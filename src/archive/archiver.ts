/**
 * The archiver of one database: copies its history to an object store, one round after the other.
 *
 * ```
 * round:  open the archive, if that was not done lately      where does the newest manifest end?
 *         put the objects that come next                      sealed segments, or else a tail of the open one
 *         create the manifest with the next number            won: it is the newest; lost: the next round opens again
 * ```
 * Any number of archivers may work on one archive, in any nodes, and each may stop or sleep anywhere. Objects have the
 * hash of their bytes in their names, so they may be written again; and of those who create a manifest one succeeds.
 * Objects without a manifest do not belong to the archive. A failure of the store ends the round, and the caller tries
 * again later.
 */
import type { Clock } from '#base';
import { ArchiveFault, manifestObject, segmentObject, tailObject } from './archive-names.ts';
import {
  type ArchivedDatabase,
  type ArchivedObject,
  type ArchivedTail,
  type ArchiveEnd,
  encodeManifest,
  endOf,
  type Manifest,
  markOf,
} from './manifest.ts';
import { contentOf, hashOf, type NewHash, type ObjectContent } from './object-store.ts';
import { type ArchivePorts, lastNumber, type OpenedArchive, openArchive } from './open-archive.ts';

/** A place in a history, and the chain hash there: 64 hexadecimal digits. */
export interface HistoryState extends ArchiveEnd {
  readonly chainHash: string;
}

/** The history of a database on this node, up to what was applied. */
export interface ArchiveSource {
  readonly database: ArchivedDatabase;
  /** Where it ends now, and where its last segment begins. */
  state(): Promise<HistoryState & { readonly segmentStart: number }>;
  /** The segment that begins at the position; undefined while it is not sealed, or not here. */
  sealed(position: number): Promise<SealedSegment | undefined>;
  /** The records between two positions. */
  records(from: number, to: number): ObjectContent;
  /** The chain hash of a revision; undefined when it is not applied here. */
  chainHashAt(revision: number): Promise<string | undefined>;
}

export interface SealedSegment {
  readonly content: ObjectContent;
  /** Where the next one begins. */
  readonly end: HistoryState;
}

export interface ArchiverPorts extends ArchivePorts {
  readonly source: ArchiveSource;
  readonly clock: Clock;
  /** Name of this node. */
  readonly writer: string;
  /** An object of so many bytes was stored. */
  readonly onStored?: (bytes: number) => void;
}

/**
 * `archived`: everything that was applied when the round began is in the archive now. `current`: it was before.
 * `partial`: there is more. `waiting`: a segment is not sealed yet, or the archive has more than this node.
 * `overtaken`: another archiver was faster.
 */
export type Round = 'archived' | 'current' | 'partial' | 'waiting' | 'overtaken';

/** Segments that get a manifest together. An archiver that stops loses no more than these. */
const SEGMENTS_MAX = 16;
/** Others write no 64 manifests in this time, so the one with the next number exists if others were written. */
const OPEN_MS = 60_000;

/** The objects of the next manifest, all of which are in the store. */
interface Collected extends Pick<Manifest, 'segments' | 'tails' | 'chainHash'> {
  /** The result of the round, once the manifest is created. */
  readonly round: 'archived' | 'partial';
}

export class Archiver {
  readonly #ports: ArchiverPorts;
  #opened: OpenedArchive | undefined;
  #openedMs = 0;
  /** Position where the archive ended when it was last read or written. */
  #archivedEnd = 0;

  constructor(ports: ArchiverPorts) {
    this.#ports = ports;
  }

  /** One call at a time. @throws ArchiveFault when the archive cannot be continued; what the store throws */
  async round(): Promise<Round> {
    // An idle database asks the store nothing.
    const { position } = await this.#ports.source.state();
    if (this.#opened?.newest !== undefined && position === this.#archivedEnd) return 'current';
    const opened = await this.#open();
    if (opened === undefined) return 'waiting';
    // If the store fails, a manifest may have been created, or the archive may be another one: its disk was replaced.
    this.#opened = undefined;
    const next = await this.#collect(opened);
    if (typeof next !== 'string') return this.#create(opened, next);
    this.#opened = opened;
    return next;
  }

  /** Bytes of the history here that the archive does not have; all of them while it was not read. */
  async lagBytes(): Promise<number> {
    const { position } = await this.#ports.source.state();
    return Math.max(0, position - this.#archivedEnd);
  }

  /** Undefined while this node has less than the archive. */
  async #open(): Promise<OpenedArchive | undefined> {
    const nowMs = this.#ports.clock.nowMs();
    if (this.#opened !== undefined && !this.#isOld(nowMs)) return this.#opened;
    this.#opened = undefined;
    const opened = await openArchive(this.#ports, this.#ports.source.database.id);
    this.#archivedEnd = opened.newest === undefined ? 0 : endOf(opened.newest.manifest).position;
    if (!(await this.#isContinued(opened))) return undefined;
    this.#opened = opened;
    this.#openedMs = nowMs;
    return opened;
  }

  #isOld(nowMs: number): boolean {
    const ageMs = nowMs - this.#openedMs;
    return ageMs < 0 || ageMs >= OPEN_MS;
  }

  async #isContinued({ newest }: OpenedArchive): Promise<boolean> {
    if (newest === undefined) return true;
    const { source, newHash } = this.#ports;
    const { database, chainHash, number, tails } = newest.manifest;
    const { revision, position } = endOf(newest.manifest);
    const refuse = (what: string, there: string, here: string): void => {
      if (here === there) return;
      const fault = `${what} is ${there} in it, and ${here} on this node`;
      throw new ArchiveFault(manifestObject(database.id, number), fault);
    };
    const here = await source.chainHashAt(revision);
    if (here === undefined) return false;
    refuse(`the chain hash of revision ${revision}`, chainHash, here);
    if ((await source.state()).position < position) return false;
    // Control records have no part in the chain.
    const tail = tails.at(-1);
    if (tail === undefined) return true;
    const records = source.records(tail.end - tail.bytes, tail.end);
    refuse(`the SHA-256 of the records up to ${tail.end}`, tail.hash, await hashOf(newHash, records));
    return true;
  }

  /** Puts the next objects: sealed segments, and if there is no further one, a tail. */
  async #collect({ newest, last }: OpenedArchive): Promise<Collected | 'current' | 'waiting'> {
    const { source } = this.#ports;
    const manifest = newest?.manifest;
    const segments = [...(manifest?.segments ?? [])];
    const known = segments.length;
    let chainHash = manifest?.chainHash ?? '';
    let begin = segments.at(-1)?.end ?? 0;
    while (segments.length < known + SEGMENTS_MAX) {
      const sealed = await source.sealed(begin);
      if (sealed === undefined) break;
      segments.push(await this.#put(sealed.content, sealed.end, segmentObject));
      ({ chainHash } = sealed.end);
      begin = sealed.end.position;
    }
    const isSealed = segments.length > known;
    const tails = isSealed ? [] : (manifest?.tails ?? []);
    const soFar = { segments, tails, chainHash, round: 'partial' } as const;
    if (segments.length === known + SEGMENTS_MAX) return soFar;
    const { segmentStart, ...end } = await source.state();
    const covered = endOf({ segments, tails }).position;
    // A database without records has a manifest, too.
    if (end.position === covered) {
      const isNew = isSealed || manifest === undefined;
      return isNew ? { ...soFar, chainHash: end.chainHash, round: 'archived' } : 'current';
    }
    if (end.position < covered || segmentStart !== begin) return isSealed ? soFar : 'waiting';
    const kept = tailsToKeep(tails, end.position);
    const from = kept.at(-1)?.end ?? begin;
    const number = last + 1;
    const tail = await this.#put(source.records(from, end.position), end, (hash) =>
      tailObject(source.database.id, { number, hash }),
    );
    return { segments, tails: [...kept, { ...tail, number }], chainHash: end.chainHash, round: 'archived' };
  }

  async #put(
    content: ObjectContent,
    { position, revision, recordedTimeMs }: HistoryState,
    nameOf: (hash: string) => string,
  ): Promise<ArchivedObject> {
    const { store, newHash } = this.#ports;
    const hash = await hashOf(newHash, content);
    const name = nameOf(hash);
    const bytes = content.byteLength;
    // A branch has the segments of its origin. An object that was only written in part is shorter.
    if ((await store.size(name)) !== bytes) {
      await store.put(name, withHash(newHash, content, hash));
      this.#ports.onStored?.(bytes);
    }
    return { hash, bytes, end: position, revision, recordedTimeMs };
  }

  async #create({ newest, last }: OpenedArchive, next: Collected): Promise<Round> {
    const { store, newHash, source, clock, writer } = this.#ports;
    const { database } = source;
    const { segments, tails, chainHash } = next;
    const number = last + 1;
    const basis = newest?.mark ?? null;
    const writtenAtMs = clock.nowMs();
    const manifest = { database, number, basis, writer, writtenAtMs, chainHash, segments, tails };
    const bytes = encodeManifest(newHash, manifest);
    if (!(await store.create(manifestObject(database.id, number), contentOf(bytes)))) return 'overtaken';
    this.#ports.onStored?.(bytes.length);
    // While this node slept, others may have created later ones, and retention has removed the one with this number.
    if (this.#isOld(clock.nowMs()) && (await lastNumber(store, database.id, number)) !== number) return 'overtaken';
    this.#opened = { newest: { manifest, mark: markOf(newHash, bytes, manifest) }, last: number, faults: [] };
    this.#openedMs = writtenAtMs;
    this.#archivedEnd = endOf(manifest).position;
    return next.round;
  }
}

/**
 * The tails that stay when the next one ends at `to`. It takes over those before it while the last is shorter than
 * twice its length. So their number is logarithmic, and a byte is written again when its object grows by half.
 */
export function tailsToKeep(tails: readonly ArchivedTail[], to: number): readonly ArchivedTail[] {
  const kept = tails.findLastIndex(({ bytes, end }) => bytes >= 2 * (to - end));
  return tails.slice(0, kept + 1);
}

/** The same content, whose last chunk is missing, with a failure, if it has changed since it was hashed. */
function withHash(newHash: NewHash, content: ObjectContent, sha256: string): ObjectContent {
  return {
    byteLength: content.byteLength,
    sha256,
    async *chunks() {
      const hash = newHash();
      let last: Uint8Array | undefined;
      for await (const chunk of content.chunks()) {
        hash.update(chunk);
        if (last !== undefined) yield last;
        last = chunk;
      }
      if (hash.hex() !== sha256) throw new Error(`object ${sha256} has changed while it was read`);
      if (last !== undefined) yield last;
    },
  };
}

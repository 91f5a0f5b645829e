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
  type ArchiveEnd,
  encodeManifest,
  endOf,
  type Manifest,
  markOf,
} from './manifest.ts';
import { contentOf, hashOf, type NewHash, type ObjectContent } from './object-store.ts';
import { type ArchivePorts, type OpenedArchive, openArchive } from './open-archive.ts';

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
}

/**
 * `archived`: there may be more. `current`: everything is archived. `waiting`: a segment is not sealed yet, or the
 * archive has more than this node. `overtaken`: another archiver was faster.
 */
export type Round = 'archived' | 'current' | 'waiting' | 'overtaken';

/** Segments that get a manifest together. An archiver that stops loses no more than these. */
const SEGMENTS_MAX = 16;
/** Afterwards the manifests may have gone that would show that others were written. */
const OPEN_MS = 60_000;

/** The objects of the next manifest, all of which are in the store. */
interface Collected extends Pick<Manifest, 'segments' | 'tails' | 'chainHash'> {
  readonly isNew: boolean;
  readonly isWaiting: boolean;
}

export class Archiver {
  readonly #ports: ArchiverPorts;
  #opened: OpenedArchive | undefined;
  #openedMs = 0;

  constructor(ports: ArchiverPorts) {
    this.#ports = ports;
  }

  /** One call at a time. @throws ArchiveFault when the archive cannot be continued; what the store throws */
  async round(): Promise<Round> {
    const opened = await this.#open();
    if (opened === undefined) return 'waiting';
    const next = await this.#collect(opened.newest?.manifest);
    if (!next.isNew) return next.isWaiting ? 'waiting' : 'current';
    return this.#create(opened, next);
  }

  /** Undefined while this node has less than the archive. */
  async #open(): Promise<OpenedArchive | undefined> {
    const { source } = this.#ports;
    const end = this.#opened?.newest === undefined ? undefined : endOf(this.#opened.newest.manifest);
    const ageMs = this.#ports.clock.nowMs() - this.#openedMs;
    const isKnown = this.#opened !== undefined && ageMs >= 0 && ageMs < OPEN_MS;
    // Without a record to archive, an idle database asks the store nothing.
    if (isKnown || end?.position === (await source.state()).position) return this.#opened;
    this.#opened = undefined;
    const nowMs = this.#ports.clock.nowMs();
    const opened = await openArchive(this.#ports, source.database.id);
    if (!(await this.#isContinued(opened))) return undefined;
    this.#opened = opened;
    this.#openedMs = nowMs;
    return opened;
  }

  async #isContinued({ newest }: OpenedArchive): Promise<boolean> {
    if (newest === undefined) return true;
    const { source } = this.#ports;
    const { database, chainHash, number } = newest.manifest;
    const { revision } = endOf(newest.manifest);
    const here = await source.chainHashAt(revision);
    if (here !== undefined && here !== chainHash) {
      const fault = `the chain hash of revision ${revision} is ${chainHash} in it, and ${here} on this node`;
      throw new ArchiveFault(manifestObject(database.id, number), fault);
    }
    return here !== undefined;
  }

  /** Puts the next objects: sealed segments, and if there is no further one, a tail. */
  async #collect(manifest: Manifest | undefined): Promise<Collected> {
    const { source } = this.#ports;
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
    const soFar = { segments, tails, chainHash, isNew: isSealed, isWaiting: false };
    if (segments.length === known + SEGMENTS_MAX) return soFar;
    const { segmentStart, ...end } = await source.state();
    const covered = endOf({ segments, tails }).position;
    // A database without records has a manifest, too.
    if (end.position === covered) {
      return { ...soFar, chainHash: end.chainHash, isNew: isSealed || manifest === undefined };
    }
    if (end.position < covered || segmentStart !== begin) return { ...soFar, isWaiting: true };
    const kept = tailsToKeep(tails, end.position);
    const from = kept.at(-1)?.end ?? begin;
    const tail = await this.#put(source.records(from, end.position), end, (hash) =>
      tailObject(source.database.id, hash),
    );
    return { segments, tails: [...kept, tail], chainHash: end.chainHash, isNew: true, isWaiting: false };
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
    if ((await store.size(name)) !== bytes) await store.put(name, withHash(newHash, content, hash));
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
    // If the store fails, nobody knows whether it was created.
    this.#opened = undefined;
    if (!(await store.create(manifestObject(database.id, number), contentOf(bytes)))) return 'overtaken';
    this.#opened = { newest: { manifest, mark: markOf(newHash, bytes, manifest) }, last: number, faults: [] };
    this.#openedMs = writtenAtMs;
    return 'archived';
  }
}

/**
 * The tails that stay when the next one ends at `to`. It takes over those before it while the last is shorter than
 * twice its length. So their number is logarithmic, and a byte is written again when its object grows by half.
 */
export function tailsToKeep(tails: readonly ArchivedObject[], to: number): readonly ArchivedObject[] {
  const kept = tails.findLastIndex(({ bytes, end }) => bytes >= 2 * (to - end));
  return tails.slice(0, kept + 1);
}

/** The same content, which fails at its end if it has changed since it was hashed. */
function withHash(newHash: NewHash, content: ObjectContent, expected: string): ObjectContent {
  return {
    byteLength: content.byteLength,
    async *chunks() {
      const hash = newHash();
      for await (const chunk of content.chunks()) {
        hash.update(chunk);
        yield chunk;
      }
      if (hash.hex() !== expected) throw new Error(`object ${expected} has changed while it was read`);
    },
  };
}

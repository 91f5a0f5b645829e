/**
 * The histories of a store: segment files, and a row of the store for each history that says how far it was synced.
 */
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { GroupId } from '#base';
import { type HistoryAppend, HistoryFault, type HistoryReader, ReadMemory } from '#kv';
import { startOfSyncedBlock } from './segment-cut.ts';
import { nodeSegmentDisk, type SegmentDisk } from './segment-disk.ts';
import { groupName, segmentBases, segmentName } from './segment-format.ts';
import { SegmentReader, type SegmentReaderOptions } from './segment-reader.ts';
import { damageOf, type EndedSegment, endedSegments, verifySegment } from './segment-seal.ts';
import { SegmentWriter } from './segment-writer.ts';
import { decodeTail, encodeTail, type SyncedTail, tailKey } from './synced-tail.ts';

/** Rows of the store that the histories are in. */
export interface TailRows {
  get(key: Uint8Array): Uint8Array | undefined;
  /** Absent values delete. With `sync` the rows are durable when the promise resolves. */
  write(
    rows: readonly (readonly [Uint8Array, Uint8Array | undefined])[],
    options: { readonly sync: boolean },
  ): Promise<void>;
}

export interface HistoriesOptions extends SegmentReaderOptions {
  readonly directory: string;
  readonly rows: TailRows;
}

const HISTORIES = 'histories';
/** Read at a time when all of a history is verified. */
const VERIFIED_BYTES = 2 ** 20;

/** Directory of the histories of a store. */
export function historiesIn(storeDirectory: string): string {
  return join(storeDirectory, HISTORIES);
}

export class Histories {
  readonly #directory: string;
  readonly #disk: SegmentDisk;
  readonly #reader: SegmentReader;
  readonly #writer: SegmentWriter;
  readonly #rows: TailRows;
  #turn: Promise<unknown> = Promise.resolve();

  constructor({ directory, rows, ...options }: HistoriesOptions) {
    this.#directory = directory;
    this.#disk = options.disk ?? nodeSegmentDisk;
    this.#reader = new SegmentReader(directory, options);
    this.#writer = new SegmentWriter(directory, this.#disk);
    this.#rows = rows;
  }

  get reader(): HistoryReader {
    return this.#reader;
  }

  /** One call at a time. */
  append(appends: ReadonlyMap<GroupId, HistoryAppend>): Promise<void> {
    return this.#writer.append(appends);
  }

  /**
   * Syncs every append that had resolved before, and writes how far that was. It is durable once these rows are, which
   * the caller sees to.
   */
  sync(): Promise<void> {
    return this.#inTurn(async () => {
      const tails = await this.#writer.sync();
      if (tails.size > 0) await this.#rows.write([...tails].map(toRow), { sync: false });
    });
  }

  /** Implements `KvStore.cutHistory`. */
  cut(group: GroupId, position: number): Promise<number> {
    return this.#inTurn(() => this.#cut(group, position));
  }

  /** As `KvStore.copyHistory`; durable with the next `sync` and its rows. */
  copy(from: GroupId, to: GroupId): Promise<void> {
    return this.#inTurn(async () => {
      await this.#cut(to, 0);
      await this.#writer.copy(from, to);
    });
  }

  /**
   * Reads all of a history that was synced, with the footers of its sealed segments.
   * @throws HistoryFault for the first bytes that are damaged
   */
  async verify(group: GroupId): Promise<void> {
    const synced = decodeTail(group, this.#rows.get(tailKey(group)));
    if (synced.end === 0) return;
    const directory = `${this.#directory}/${groupName(group)}`;
    const end = await startOfSyncedBlock({ disk: this.#disk, directory }, synced);
    const text = 'the last synced block is not what was written';
    if (end === undefined) throw new HistoryFault(group, { from: 0, to: synced.end }, { isMissing: false, text });
    let sealed = 0;
    for (const segment of endedSegments(segmentBases(await this.#disk.listLater(directory)))) {
      if (segment.base !== sealed || segment.next >= synced.end) break;
      await this.#verifySealed(group, directory, segment);
      sealed = segment.next;
    }
    const memory = new ReadMemory();
    for (let from = sealed; from < end; from += VERIFIED_BYTES) {
      await this.#reader.readAll(group, [{ from, to: Math.min(from + VERIFIED_BYTES, end) }], memory);
      memory.reset();
      await nextTurn();
    }
  }

  async #verifySealed(group: GroupId, directory: string, segment: EndedSegment): Promise<void> {
    using file = await this.#disk.openLater(`${directory}/${segmentName(segment.base)}`);
    if (file === undefined) throw damageOf(group, segment, 'there is no such file');
    const slices = verifySegment(file, segment);
    let slice = slices.next();
    for (; slice.done !== true; slice = slices.next()) await nextTurn();
    if (typeof slice.value === 'string') throw damageOf(group, segment, slice.value);
  }

  size(group: GroupId): Promise<number> {
    return this.#writer.size(group);
  }

  async close(): Promise<void> {
    this.#reader.close();
    await this.#writer.close();
  }

  async #cut(group: GroupId, position: number): Promise<number> {
    const key = tailKey(group);
    const synced = decodeTail(group, this.#rows.get(key));
    const { end } = await this.#writer.cut(group, position, synced, (tail) =>
      this.#rows.write([[key, tail.end === 0 ? undefined : encodeTail(tail)]], { sync: true }),
    );
    return end;
  }

  /** A sync that runs would write the row of a history that is cut meanwhile. */
  #inTurn<Value>(work: () => Promise<Value>): Promise<Value> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => undefined);
    return done;
  }
}

function toRow([group, tail]: readonly [GroupId, SyncedTail]): readonly [Uint8Array, Uint8Array] {
  return [tailKey(group), encodeTail(tail)];
}

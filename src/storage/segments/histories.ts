/** The histories of a store in segment files: one writer and one reader for all of them. */
import { join } from 'node:path';
import type { GroupId } from '#base';
import { type HistoryAppend, type HistoryEnd, type HistoryReader, NO_HISTORY, ReadMemory } from '#kv';
import { nodeSegmentDisk, type SegmentDisk } from './segment-disk.ts';
import { groupName, segmentBases, segmentName } from './segment-format.ts';
import { SegmentReader, type SegmentReaderOptions } from './segment-reader.ts';
import { damageOf, type EndedSegment, endedSegments, verifySegment } from './segment-seal.ts';
import { SegmentWriter } from './segment-writer.ts';

export interface HistoriesOptions extends SegmentReaderOptions {
  readonly directory: string;
}

const HISTORIES = 'histories';
/** Number of bytes read at a time when a whole history is verified. */
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
  #turn: Promise<unknown> = Promise.resolve();

  constructor({ directory, ...options }: HistoriesOptions) {
    this.#directory = directory;
    this.#disk = options.disk ?? nodeSegmentDisk;
    this.#reader = new SegmentReader(directory, options);
    this.#writer = new SegmentWriter(directory, this.#disk);
  }

  get reader(): HistoryReader {
    return this.#reader;
  }

  /** One call at a time. */
  append(appends: ReadonlyMap<GroupId, HistoryAppend>): Promise<void> {
    return this.#writer.append(appends);
  }

  /** Syncs every append that had resolved before. */
  sync(): Promise<void> {
    return this.#inTurn(() => this.#writer.sync());
  }

  /** Implements `KvStore.historyEnd`. */
  end(group: GroupId): HistoryEnd {
    return this.#writer.end(group);
  }

  /** Implements `KvStore.cutHistory`. */
  cut(group: GroupId, position: number, synced: HistoryEnd = NO_HISTORY): Promise<number> {
    return this.#inTurn(() => this.#writer.cut(group, position, synced));
  }

  /** Like `KvStore.copyHistory`; durable with the next `sync`. */
  copy(from: GroupId, to: GroupId): Promise<void> {
    return this.#inTurn(async () => {
      await this.#writer.cut(to, 0, NO_HISTORY);
      await this.#writer.copy(from, to);
    });
  }

  /** See `KvStore.verifyHistory`. */
  async verify(group: GroupId, end: number, synced: number): Promise<void> {
    const directory = `${this.#directory}/${groupName(group)}`;
    let sealed = 0;
    for (const segment of endedSegments(segmentBases(await this.#disk.listLater(directory)))) {
      if (segment.base !== sealed || segment.next >= synced) break;
      await this.#verifySealed(group, directory, segment);
      sealed = segment.next;
    }
    const memory = new ReadMemory();
    for (let from = sealed; from < end; from += VERIFIED_BYTES) {
      await this.#reader.readAll(group, [{ from, to: Math.min(from + VERIFIED_BYTES, end) }], memory);
      memory.reset();
    }
  }

  size(group: GroupId): Promise<number> {
    return this.#writer.size(group);
  }

  async close(): Promise<void> {
    this.#reader.close();
    await this.#writer.close();
  }

  async #verifySealed(group: GroupId, directory: string, segment: EndedSegment): Promise<void> {
    using file = await this.#disk.openLater(`${directory}/${segmentName(segment.base)}`);
    if (file === undefined) throw damageOf(group, segment, 'there is no such file');
    const slices = verifySegment(file, segment);
    let slice = slices.next();
    while (slice.done !== true) slice = slices.next();
    if (typeof slice.value === 'string') throw damageOf(group, segment, slice.value);
  }

  /** A sync must not run while a cut changes the files that it is about to sync. */
  #inTurn<Value>(work: () => Promise<Value>): Promise<Value> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => undefined);
    return done;
  }
}

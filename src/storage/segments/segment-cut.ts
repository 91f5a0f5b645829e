/**
 * Cuts a history, also after a power loss.
 *
 * A block that was synced is written again when records follow in it. Both states begin with the same data, but a power
 * loss may leave sectors of both, and then the checksum of the block proves nothing. So the checksum of the data up to
 * the synced end is kept elsewhere (synced-tail.ts): everything up to that end can be proven, and what follows it is
 * dropped unless it is whole.
 */
import { NO_BYTES } from '#base';
import { checksum } from '../checksum.ts';
import type { SegmentDisk } from './segment-disk.ts';
import {
  BLOCK_BYTES,
  blockAt,
  blockStart,
  sealBlock,
  segmentBases,
  segmentName,
  usedInBlock,
} from './segment-format.ts';
import type { SyncedTail } from './synced-tail.ts';

export interface SegmentPlace {
  readonly disk: SegmentDisk;
  /** Of the history, in that of all histories. */
  readonly directory: string;
}

export interface CutPorts extends SegmentPlace {
  readonly parent: string;
  readonly remove: (path: string) => Promise<void>;
}

/** The block that ends at a position. */
interface EndBlock {
  readonly path: string;
  readonly base: number;
  readonly block: number;
  /** First position in it, and number of bytes from there to the end. */
  readonly start: number;
  readonly wanted: number;
}

export interface Cut {
  /** End of the history: less than the position where bytes before it that were not synced are lost or torn. */
  readonly end: number;
  /** Data of the last block up to the end; absent where synced bytes are damaged. */
  readonly partial?: Uint8Array;
  /** Files that must be synced, for they have more than was synced before. */
  readonly files: readonly string[];
}

/** Blocks that are written again at a time. */
const BLOCKS_AT_ONCE = 256;

/** Removes what follows the position, durably. */
export async function cutHistory(ports: CutPorts, position: number, synced: SyncedTail): Promise<Cut> {
  const bases = segmentBases(await ports.disk.listLater(ports.directory));
  const isWhole =
    position <= synced.end ||
    ((await isWholeAt(ports, bases, synced.end)) && (await isWholeAt(ports, bases, position)));
  const end = isWhole ? position : synced.end;
  const last = endBlock(ports.directory, bases, end);
  // A synced segment is lost: a read reports it.
  if (last === undefined && end > 0) return { end: 0, files: [] };
  const removed = bases.filter((base) => base >= end);
  for (const base of removed.toReversed()) await ports.remove(`${ports.directory}/${segmentName(base)}`);
  if (last === undefined) {
    if (bases.length > 0) await ports.disk.removeDirectory(ports.directory);
    if (bases.length > 0) await ports.disk.syncDirectory(ports.parent);
    return { end: 0, partial: NO_BYTES, files: [] };
  }
  if (removed.length > 0) await ports.disk.syncDirectory(ports.directory);
  const cut = await cutSegment(ports, last, synced);
  return { ...cut, files: cut.end > synced.end ? await writeAgain(ports, bases, synced.end, cut.end) : [] };
}

/**
 * Writes what was not synced again, unchanged: if a sync of the last process has failed, Linux takes the bytes that it
 * has in memory for written, and the next sync does nothing about them.
 */
async function writeAgain(
  { disk, directory }: CutPorts,
  bases: readonly number[],
  from: number,
  to: number,
): Promise<readonly string[]> {
  const paths: string[] = [];
  for (const [index, base] of bases.entries()) {
    const end = Math.min(bases[index + 1] ?? to, to);
    if (end <= from || base >= to) continue;
    const path = `${directory}/${segmentName(base)}`;
    const file = await disk.openToWrite(path, 'existing');
    try {
      // With the header, if no record of the segment was synced.
      let at = from > base ? blockAt(from, base) * BLOCK_BYTES : 0;
      const until = (blockAt(end - 1, base) + 1) * BLOCK_BYTES;
      while (at < until) {
        const bytes = new Uint8Array(Math.min(BLOCKS_AT_ONCE * BLOCK_BYTES, until - at));
        const count = await file.read(bytes, at);
        if (count > 0) await file.write(bytes.subarray(0, count), at);
        at += bytes.length;
      }
    } finally {
      await file.close();
    }
    paths.push(path);
  }
  return paths;
}

/** Undefined when no segment begins before the position. */
function endBlock(directory: string, bases: readonly number[], position: number): EndBlock | undefined {
  const base = bases.findLast((each) => each < position);
  if (base === undefined) return undefined;
  const block = blockAt(position - 1, base);
  const start = blockStart(block, base);
  return { path: `${directory}/${segmentName(base)}`, base, block, start, wanted: position - start };
}

/** First position of the last block of what was synced; undefined when the data in that block are other ones. */
export async function startOfSyncedBlock(place: SegmentPlace, synced: SyncedTail): Promise<number | undefined> {
  const last = endBlock(place.directory, segmentBases(await place.disk.listLater(place.directory)), synced.end);
  const bytes = last && (await readBlock(place.disk, last));
  if (last === undefined || bytes === undefined) return undefined;
  const isWhole = (usedInBlock(bytes, 0) ?? 0) >= last.wanted || isSyncedIn(bytes, last.start, synced);
  return isWhole ? last.start : undefined;
}

async function isWholeAt(ports: CutPorts, bases: readonly number[], position: number): Promise<boolean> {
  const last = endBlock(ports.directory, bases, position);
  if (last === undefined) return position === 0;
  const bytes = await readBlock(ports.disk, last);
  return bytes !== undefined && (usedInBlock(bytes, 0) ?? 0) >= last.wanted;
}

async function readBlock(disk: SegmentDisk, { path, block }: EndBlock): Promise<Uint8Array | undefined> {
  const bytes = new Uint8Array(BLOCK_BYTES);
  const file = await disk.openToWrite(path, 'existing');
  const count = await file.read(bytes, block * BLOCK_BYTES).finally(() => file.close());
  return count === BLOCK_BYTES ? bytes : undefined;
}

async function cutSegment(ports: CutPorts, last: EndBlock, synced: SyncedTail): Promise<Omit<Cut, 'files'>> {
  const { disk } = ports;
  const { path, base, block, start, wanted } = last;
  const bytes = await readBlock(disk, last);
  // Synced bytes are lost or damaged: a read reports it.
  if (bytes === undefined) return { end: start };
  const used = usedInBlock(bytes, 0);
  if (used !== undefined && used < wanted) return { end: start + used };
  const isProven = used !== undefined || (blockAt(synced.end - 1, base) === block && isSyncedIn(bytes, start, synced));
  if (!isProven) return { end: start + wanted };
  const cut = { end: start + wanted, partial: bytes.subarray(0, wanted) };
  const { size, nlink } = await disk.stat(path);
  if (used === wanted && size === (block + 1) * BLOCK_BYTES) return cut;
  // Another history may share the file.
  if (nlink > 1) {
    await disk.copy(path, `${path}.copy`);
    await disk.rename(`${path}.copy`, path);
    await disk.syncDirectory(ports.directory);
  }
  sealBlock(bytes, 0, wanted);
  const file = await disk.openToWrite(path, 'existing');
  try {
    await file.write(bytes, block * BLOCK_BYTES);
    await file.truncate((block + 1) * BLOCK_BYTES);
    await file.sync();
  } finally {
    await file.close();
  }
  return cut;
}

function isSyncedIn(bytes: Uint8Array, start: number, { end, crc }: SyncedTail): boolean {
  return checksum(bytes, 0, end - start) === crc;
}

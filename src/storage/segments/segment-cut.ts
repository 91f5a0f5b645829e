/**
 * Cuts a history, also after a power loss.
 *
 * A block that was synced is written again when records follow in it. Both states begin with the same data, but a power
 * loss may leave sectors of both, and then the checksum of the block proves nothing. So the checkpoint record of the
 * write-ahead log has the checksum of the data up to the synced end: everything up to that end can be proven, and what
 * follows it is dropped unless it is whole.
 */
import { assert, compareBytes, ignoring, NO_BYTES } from '#base';
import type { HistoryEnd } from '#kv';
import { checksum } from '../basis/little-endian.ts';
import { isMissing, isUnreadable, readBlock, type SegmentDisk } from './segment-disk.ts';
import {
  BLOCK_BYTES,
  blockAt,
  blockStart,
  bytesUpTo,
  sealBlock,
  segmentBases,
  segmentName,
  usedInBlock,
} from './segment-format.ts';
import { type EndedSegment, endedSegments } from './segment-seal.ts';

export interface SegmentPlace {
  readonly disk: SegmentDisk;
  /** Directory of the history, within that of all histories. */
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
  /** Segments that may never have got a footer, and have none now. */
  readonly unsealed: readonly EndedSegment[];
}

/** Ending of a segment that is copied, because it is shared. */
const COPY = '.copy';
/** Blocks that are written again at a time. */
const BLOCKS_AT_ONCE = 256;

/** Removes what follows the position, durably. */
export async function cutHistory(ports: CutPorts, position: number, synced: HistoryEnd): Promise<Cut> {
  // While the last block is replaced it may be torn, and only the checksum of the synced end proves it.
  assert(position === 0 || position >= synced.end, 'A cut leaves what was synced', [position, synced.end]);
  const names = await ports.disk.listLater(ports.directory);
  // A crash has left it before it took the place of its segment.
  for (const name of names) if (name.endsWith(COPY)) await ports.disk.remove(`${ports.directory}/${name}`);
  const bases = segmentBases(names);
  const isWhole =
    position <= synced.end ||
    ((await isWholeAt(ports, bases, synced.end)) && (await isWholeAt(ports, bases, position)));
  const end = isWhole ? position : synced.end;
  const last = endBlock(ports.directory, bases, end);
  const cut =
    last === undefined ? { end: 0, partial: end === 0 ? NO_BYTES : undefined } : await readEnd(ports, last, synced);
  const { partial } = cut;
  // Synced bytes are lost or damaged: nothing is changed, and a read reports it.
  if (partial === undefined) return { end: cut.end, files: [], unsealed: [] };
  const removed = bases.filter((base) => base >= end);
  for (const base of removed.toReversed()) await ports.remove(`${ports.directory}/${segmentName(base)}`);
  if (last === undefined) {
    await removeDirectory(ports);
    return { end, partial, files: [], unsealed: [] };
  }
  if (removed.length > 0) await ports.disk.syncDirectory(ports.directory);
  await endFile(ports, last, partial);
  const files = end > synced.end ? await writeAgain(ports, bases, synced.end, end).catch(ignoring(isUnreadable)) : [];
  // The power failure has torn a sector that no checksum here covers.
  if (files === undefined) return cutHistory(ports, synced.end, synced);
  // A sync that covers bytes of a segment has sealed the one before.
  const unsealed = endedSegments(bases).filter(({ next }) => next >= synced.end && next < end);
  return { end, partial, files, unsealed };
}

/**
 * Writes what was not synced again, unchanged: if a sync of the last process has failed, Linux takes the bytes that it
 * has in memory for written, and the next sync does nothing about them. Footers go, for they may be torn; a file with
 * two names got its own before the second one.
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
    if (end < from || base >= to) continue;
    const path = `${directory}/${segmentName(base)}`;
    await using file = await disk.openToWrite(path, 'existing');
    // With the header, if no record of the segment was synced.
    let at = from > base ? blockAt(from, base) * BLOCK_BYTES : 0;
    const until = bytesUpTo(end, base);
    while (at < until) {
      const bytes = new Uint8Array(Math.min(BLOCKS_AT_ONCE * BLOCK_BYTES, until - at));
      const count = await file.read(bytes, at);
      if (count > 0) await file.write(bytes.subarray(0, count), at);
      at += bytes.length;
    }
    const { size, nlink } = await disk.stat(path);
    if (size > until && nlink === 1) await file.truncate(until);
    paths.push(path);
  }
  return paths;
}

/** With what a crash may have left of a copy, or the directory alone, which a crash may have left, too. */
async function removeDirectory({ disk, directory, parent, remove }: CutPorts): Promise<void> {
  for (const name of await disk.listLater(directory)) await remove(`${directory}/${name}`);
  const isRemoved = await disk.removeDirectory(directory).then(() => true, ignoring(isMissing));
  if (isRemoved === true) await disk.syncDirectory(parent);
}

/** Undefined when no segment begins before the position. */
function endBlock(directory: string, bases: readonly number[], position: number): EndBlock | undefined {
  const base = bases.findLast((each) => each < position);
  if (base === undefined) return undefined;
  const block = blockAt(position - 1, base);
  const start = blockStart(block, base);
  return { path: `${directory}/${segmentName(base)}`, base, block, start, wanted: position - start };
}

async function isWholeAt(ports: CutPorts, bases: readonly number[], position: number): Promise<boolean> {
  const last = endBlock(ports.directory, bases, position);
  if (last === undefined) return position === 0;
  const bytes = await readBlock(ports.disk, last.path, last.block);
  return bytes !== undefined && (usedInBlock(bytes, 0) ?? 0) >= last.wanted;
}

/** The data of the block up to the end; absent when they are not, or not surely, what was written. */
async function readEnd(
  { disk }: SegmentPlace,
  last: EndBlock,
  synced: HistoryEnd,
): Promise<{ readonly end: number; readonly partial?: Uint8Array }> {
  const { path, base, block, start, wanted } = last;
  const bytes = await readBlock(disk, path, block);
  if (bytes === undefined) return { end: start };
  const used = usedInBlock(bytes, 0);
  if (used !== undefined && used < wanted) return { end: start + used };
  const isProven = used !== undefined || (blockAt(synced.end - 1, base) === block && isSyncedIn(bytes, start, synced));
  return { end: start + wanted, ...(isProven && { partial: bytes.subarray(0, wanted) }) };
}

/** Ends the file with these data of its last block. */
async function endFile({ disk, directory }: CutPorts, last: EndBlock, partial: Uint8Array): Promise<void> {
  const { path, block } = last;
  const [at, end] = [block * BLOCK_BYTES, (block + 1) * BLOCK_BYTES];
  const { size, nlink } = await disk.stat(path);
  const wanted = new Uint8Array(BLOCK_BYTES);
  wanted.set(partial);
  sealBlock(wanted, 0, partial.length);
  const found = await readBlock(disk, path, block);
  if (size === end && found !== undefined && compareBytes(found, wanted) === 0) return;
  // Another history may share the file.
  if (nlink > 1) {
    await disk.copy(path, path + COPY);
    await disk.syncFile(path + COPY);
    await disk.rename(path + COPY, path);
    await disk.syncDirectory(directory);
  }
  await using file = await disk.openToWrite(path, 'existing');
  await file.write(wanted, at);
  await file.truncate(end);
  await file.sync();
}

function isSyncedIn(bytes: Uint8Array, start: number, { end, crc }: HistoryEnd): boolean {
  return checksum(bytes, 0, end - start) === crc;
}

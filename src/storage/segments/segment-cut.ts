/**
 * Cuts a history, also after a power loss.
 *
 * A block that was synced is written again when records follow in it. Both states begin with the same data, but a power
 * loss may leave sectors of both, and then the checksum of the block proves nothing. So the checksum of the data up to
 * the synced end is kept elsewhere (synced-tail.ts): everything up to that end can be proven, and what follows it is
 * dropped unless it is whole.
 */
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

/**
 * Removes what follows the position, durably. Returns the end of the history: less than `position` where bytes before
 * that were not synced are lost or torn. The end has no checksum where synced bytes are damaged.
 */
export async function cutHistory(
  ports: CutPorts,
  position: number,
  synced: SyncedTail,
): Promise<{ readonly end: number; readonly crc: number | undefined }> {
  const bases = segmentBases(await ports.disk.listLater(ports.directory));
  const isWhole =
    position <= synced.end ||
    ((await isWholeAt(ports, bases, synced.end)) && (await isWholeAt(ports, bases, position)));
  const end = isWhole ? position : synced.end;
  const last = endBlock(ports.directory, bases, end);
  // A synced segment is lost: a read reports it.
  if (last === undefined && end > 0) return { end: 0, crc: undefined };
  const removed = bases.filter((base) => base >= end);
  for (const base of removed.toReversed()) await ports.remove(`${ports.directory}/${segmentName(base)}`);
  if (last === undefined) {
    if (bases.length > 0) await ports.disk.removeDirectory(ports.directory);
    if (bases.length > 0) await ports.disk.syncDirectory(ports.parent);
    return { end: 0, crc: 0 };
  }
  if (removed.length > 0) await ports.disk.syncDirectory(ports.directory);
  return cutSegment(ports, last, synced);
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

async function cutSegment(
  ports: CutPorts,
  last: EndBlock,
  synced: SyncedTail,
): Promise<{ readonly end: number; readonly crc: number | undefined }> {
  const { disk } = ports;
  const { path, base, block, start, wanted } = last;
  const bytes = await readBlock(disk, last);
  // Synced bytes are lost or damaged: a read reports it.
  if (bytes === undefined) return { end: start, crc: undefined };
  const used = usedInBlock(bytes, 0);
  if (used !== undefined && used < wanted) return { end: start + used, crc: undefined };
  const isProven = used !== undefined || (blockAt(synced.end - 1, base) === block && isSyncedIn(bytes, start, synced));
  if (!isProven) return { end: start + wanted, crc: undefined };
  const cut = { end: start + wanted, crc: checksum(bytes, 0, wanted) };
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

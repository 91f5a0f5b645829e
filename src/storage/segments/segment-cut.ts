/**
 * Cuts the last segment of a history, and finds out whether a power loss has torn the block at the cut.
 *
 * A block that has been synced is written again when records follow in it. Both states begin with the same data, but a
 * power loss may leave sectors of both, and then the checksum of either proves nothing. So the data before the cut are
 * kept, and reported as unproven: the chain of hashes in the records decides (#database).
 */
import type { SegmentDisk } from './segment-disk.ts';
import { BLOCK_BYTES, blockAt, blockStart, sealBlock, statedCrc, statedUse, usedInBlock } from './segment-format.ts';

/** Ends the segment at the position, which is behind its base, durably. Returns as `SegmentWriter.cut`. */
export async function cutSegment(
  disk: SegmentDisk,
  { path, base }: { readonly path: string; readonly base: number },
  position: number,
): Promise<number> {
  const block = blockAt(position - 1, base);
  const start = blockStart(block, base);
  const [at, end] = [block * BLOCK_BYTES, (block + 1) * BLOCK_BYTES];
  const { size, nlink } = await disk.stat(path);
  // Blocks before it may be there or not: all that is certain is the place of the header.
  if (size < end) return Math.max(base, blockStart(Math.floor(size / BLOCK_BYTES) - 1, base));
  const bytes = new Uint8Array(BLOCK_BYTES);
  const reading = await disk.openToWrite(path, 'existing');
  await reading.read(bytes, at).finally(() => reading.close());
  const used = usedInBlock(bytes, 0);
  const wanted = position - start;
  if (used !== undefined && used < wanted) return start + used;
  if (used === wanted && size === end) return position;
  const stated = { used: statedUse(bytes, 0), crc: statedCrc(bytes, 0) };
  sealBlock(bytes, 0, wanted);
  // The state that ended at the position may be whole, with sectors of a later one behind.
  const isProven = used !== undefined || (stated.used === wanted && stated.crc === statedCrc(bytes, 0));
  // Another history may share the file.
  if (nlink > 1) {
    await disk.copy(path, `${path}.copy`);
    await disk.rename(`${path}.copy`, path);
    await disk.syncDirectory(path.slice(0, path.lastIndexOf('/')));
  }
  const file = await disk.openToWrite(path, 'existing');
  try {
    await file.write(bytes, at);
    await file.truncate(end);
    await file.sync();
  } finally {
    await file.close();
  }
  return isProven ? position : start;
}

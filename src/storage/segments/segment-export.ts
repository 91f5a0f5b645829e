/** Sealed segments that leave the node as files, and the records of such a file when it comes back. */
import { concatBytes, DatabaseError, type GroupId, NO_BYTES } from '#base';
import { HistoryFault, type SegmentStart } from '#kv';
import { readNext } from './segment-contents.ts';
import { nodeSegmentDisk, type SegmentDisk } from './segment-disk.ts';
import { BLOCK_BYTES, groupName, IN_FOOTER, readHeader, segmentName, usedInBlock } from './segment-format.ts';
import { damageOf, verifySegment } from './segment-seal.ts';

/** A file with a footer. */
export interface SealedFile {
  readonly byteLength: number;
  /** Where the next segment begins. */
  readonly next: SegmentStart;
  chunks(): AsyncIterable<Uint8Array>;
}

const CHUNK_BYTES: number = 64 * BLOCK_BYTES;

/**
 * The segment of a history that begins at the position, verified; undefined when it is not sealed, or not here.
 * @throws HistoryFault when it is damaged
 */
export async function sealedSegment(
  histories: string,
  { group, position }: { readonly group: GroupId; readonly position: number },
  disk: SegmentDisk = nodeSegmentDisk,
): Promise<SealedFile | undefined> {
  const path = `${histories}/${groupName(group)}/${segmentName(position)}`;
  using file = await disk.openLater(path);
  if (file === undefined) return undefined;
  const byteLength = file.size();
  const last = new Uint8Array(BLOCK_BYTES);
  file.read(last, Math.max(0, byteLength - BLOCK_BYTES));
  if (readNext(last) === undefined) return undefined;
  const slices = verifySegment(file, { base: position });
  let slice = slices.next();
  while (slice.done !== true) slice = slices.next();
  const next = slice.value;
  if (typeof next === 'string') throw damageOf(group, { base: position, next: position + byteLength }, next);
  return { byteLength, next, chunks: () => chunksOf(disk, path, { group, position, byteLength }) };
}

/**
 * The records in the file of a sealed segment, whose chunks were verified.
 * @throws DatabaseError when it is not the file of a sealed segment
 */
export function* recordsOfSegment(chunks: readonly Uint8Array[]): Generator<Uint8Array> {
  let rest: Uint8Array = NO_BYTES;
  let block = 0;
  for (const chunk of chunks) {
    const bytes = concatBytes([rest, chunk]);
    const parts: Uint8Array[] = [];
    let at = 0;
    for (; at + BLOCK_BYTES <= bytes.length; at += BLOCK_BYTES) {
      const header = block === 0 ? readHeader(bytes.subarray(at, at + BLOCK_BYTES)) : undefined;
      if (typeof header === 'string') throw noSegment(header);
      const used = usedInBlock(bytes, at);
      if (used === undefined && usedInBlock(bytes, at, IN_FOOTER) === undefined) {
        throw noSegment(`block ${block} does not match its checksum`);
      }
      if (block > 0) parts.push(bytes.subarray(at, at + (used ?? 0)));
      block += 1;
    }
    rest = bytes.subarray(at);
    yield concatBytes(parts);
  }
}

function noSegment(fault: string): DatabaseError {
  return new DatabaseError('internal', `the file is no sealed segment: ${fault}`);
}

async function* chunksOf(
  disk: SegmentDisk,
  path: string,
  { group, position, byteLength }: { readonly group: GroupId; readonly position: number; readonly byteLength: number },
): AsyncGenerator<Uint8Array> {
  using file = await disk.openLater(path);
  for (let at = 0; at < byteLength; at += CHUNK_BYTES) {
    const chunk = new Uint8Array(Math.min(CHUNK_BYTES, byteLength - at));
    const count = (await file?.readLater(chunk, at)) ?? 0;
    if (count === chunk.length) yield chunk;
    else throw new HistoryFault(group, { from: position, to: position + byteLength }, GONE);
  }
}

const GONE = { isMissing: true, text: 'the file of its segment was removed' };

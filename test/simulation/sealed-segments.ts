// The histories of a database on all of its nodes after healing: segments with a later one are equal, byte by byte, and
// each footer is that of its segment. A node that has not synced lately may lack the last footers.
import type { GroupId } from '#base';
import { bytesUpTo, groupName, segmentBases, segmentName } from '../../src/storage/segments/segment-format.ts';
import { endedSegments } from '../../src/storage/segments/segment-seal.ts';
import type { MemorySegmentDisk } from '../support/memory-segment-disk.ts';
import { HISTORIES, verified } from '../support/segment-histories.ts';

export interface NodeSegments {
  readonly name: string;
  readonly disk: MemorySegmentDisk;
}

interface Seen {
  readonly node: string;
  readonly bytes: Uint8Array;
}

export interface ComparedSegments {
  readonly faults: readonly string[];
  /** Number of segments with a footer, on all nodes. */
  readonly sealed: number;
}

export function compareSegments(group: GroupId, nodes: readonly NodeSegments[]): ComparedSegments {
  const seen = new Map<string, Seen>();
  const faults: string[] = [];
  let sealed = 0;
  for (const { name, disk } of nodes) {
    const directory = `${HISTORIES}/${groupName(group)}`;
    for (const segment of endedSegments(segmentBases(disk.list(directory)))) {
      const file = segmentName(segment.base);
      const path = `${directory}/${file}`;
      const bytes = disk.file(path);
      const end = bytesUpTo(segment.next, segment.base);
      const found = bytes.length > end ? verified(disk, path, segment) : undefined;
      if (found !== undefined) sealed += 1;
      if (typeof found === 'string') faults.push(`${name}: segment ${file} of group ${group}: ${found}`);
      const records = bytes.subarray(0, end);
      const other = seen.get(file);
      if (other === undefined) seen.set(file, { node: name, bytes: records });
      else if (Buffer.compare(other.bytes, records) !== 0)
        faults.push(`${name} has another segment ${file} of group ${group} than ${other.node}`);
    }
  }
  return { faults, sealed };
}

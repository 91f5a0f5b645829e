/** The file of an export: continues after its last whole line, and removes a line that a failure cut. */
import type { FileHandle } from 'node:fs/promises';
import { parseJson, RAW_DATA } from '#model';
import { refused } from './command-output.ts';
import { type EventLine, LINE_BREAK, LINE_BYTES_MAX, positionOf } from './event-lines.ts';

/** Every event begins with it. */
const BEGIN = '{"id":';

/** Returns the last whole line. @throws DatabaseError: the file has something else than an export; it stays as it is */
export async function lastLineOf(file: FileHandle, path: string): Promise<EventLine | undefined> {
  const { size } = await file.stat();
  const length = Math.min(size, 2 * LINE_BYTES_MAX);
  const { buffer } = await file.read(Buffer.alloc(length), 0, length, size - length);
  const end = buffer.lastIndexOf(LINE_BREAK) + 1;
  const lines = buffer.subarray(0, Math.max(0, end - 1));
  const line = lines.subarray(lines.lastIndexOf(LINE_BREAK) + 1);
  const node = parseJson(line, { raw: RAW_DATA });
  const position = node.kind === 'fault' ? undefined : positionOf(node);
  const isWhole = end === 0 ? length === size : position !== undefined;
  if (!isWhole || !BEGIN.startsWith(buffer.subarray(end, end + BEGIN.length).toString())) {
    throw refused(`${path} has something else than an export; name another file`);
  }
  if (end < length) await file.truncate(size - length + end);
  return position && { text: line.toString(), position };
}

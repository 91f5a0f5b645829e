/** Events as lines of JSON: those of a reply, the position that the server added, and the lines of a text. */
import { type JsonNode, type JsonObject, type Position, parseJson, RAW_DATA, writeJson } from '#model';
import { refused } from '../../process/refusals.ts';

/** An event has 1 MB at most, and JSON can spell one byte with six. */
export const LINE_BYTES_MAX: number = 8 * 1024 * 1024;
export const LINE_BREAK = 0x0a;

export interface EventLine {
  readonly event: JsonObject;
  readonly position: Position;
}

function eventLine(event: JsonNode): EventLine | undefined {
  const position = positionOf(event);
  return event.kind === 'object' && position !== undefined ? { event, position } : undefined;
}

/** The text of the line. Line breaks are white space of a payload: in a string they are escaped. */
export function textOf({ event }: EventLine): string {
  return writeJson(event).replaceAll(/[\r\n]/g, ' ');
}

/** The position that the server added to an event. */
export function positionOf(node: JsonNode): Position | undefined {
  const [revision, index] = ['revision', 'index'].map((name) => {
    const value = node.kind === 'object' ? node.members.get(name) : undefined;
    return value?.kind === 'number' ? Number(value.text) : undefined;
  });
  return revision === undefined || index === undefined ? undefined : { revision, index };
}

/** The events of a list, and whether there are more; undefined for any other text. */
export function eventLinesOf(reply: Uint8Array): { lines: readonly EventLine[]; hasMore: boolean } | undefined {
  const node = parseJson(reply, { raw: RAW_DATA });
  if (node.kind !== 'object') return undefined;
  const [events, more] = [node.members.get('events'), node.members.get('has_more')];
  if (events?.kind !== 'array' || more?.kind !== 'boolean') return undefined;
  const lines = events.items.flatMap((event) => eventLine(event) ?? []);
  return lines.length === events.items.length ? { lines, hasMore: more.value } : undefined;
}

/**
 * Yields each line with its number. The last line may have no line break.
 * @throws DatabaseError: a line is longer than any event
 */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<readonly [number, Buffer]> {
  let [number, begun, length]: [number, Uint8Array[], number] = [1, [], 0];
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(LINE_BREAK); end !== -1; end = chunk.indexOf(LINE_BREAK, from)) {
      yield [number, Buffer.concat([...begun, chunk.subarray(from, end)])];
      [number, begun, length, from] = [number + 1, [], 0, end + 1];
    }
    begun.push(chunk.subarray(from));
    length += chunk.length - from;
    if (length > LINE_BYTES_MAX) throw refused(`line ${number} is longer than ${LINE_BYTES_MAX} bytes`);
  }
  yield [number, Buffer.concat(begun)];
}

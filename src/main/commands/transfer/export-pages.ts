/** Reads the events of a database at one revision, in their order, page by page. */
import { type Position, QUERY_LIMIT_MAX } from '#model';
import { refused } from '../../process/refusals.ts';
import type { AskApi } from '../http-api.ts';
import { type EventLine, eventLinesOf, textOf } from './event-lines.ts';
import type { LastLine } from './export-file.ts';

export interface ExportedRange {
  readonly database: string;
  /** Revision of the reads. */
  readonly at: string;
  /** Revision after which the events begin, unless there is a last line. */
  readonly after: number;
  /** Last line of an earlier export: the events begin after it. */
  readonly last: LastLine | undefined;
  /** JSON, which the server checks. */
  readonly selector: string;
}

/** @throws DatabaseError: a read is refused, or the last line is not of this database and selector */
export async function* pagesOf(
  ask: AskApi,
  { database, at, after: start, last, selector }: ExportedRange,
): AsyncGenerator<readonly EventLine[]> {
  // The first page has all events of its first revision, so it has the last line.
  const range = { revision: { startAt: last?.position.revision ?? start + 1 } };
  let after: Position | undefined;
  for (;;) {
    const rest = JSON.stringify({ range, limit: QUERY_LIMIT_MAX, after }).slice(1);
    const q = Buffer.from(`{"selector":${selector},${rest}`).toString('base64url');
    const page = eventLinesOf((await ask({ path: `/db/${database}/${at}/events?q=${q}` })).body);
    if (page === undefined) throw refused('the answer has no events; it may not be of a Cairn node');
    yield last === undefined || after !== undefined ? page.lines : linesAfter(last, page.lines);
    if (!page.hasMore) return;
    after = page.lines.at(-1)?.position;
  }
}

function linesAfter(last: LastLine, lines: readonly EventLine[]): readonly EventLine[] {
  const at = lines.findIndex((line) => textOf(line) === last.text);
  if (at !== -1) return lines.slice(at + 1);
  const { revision, index } = last.position;
  throw refused(`the last event of the file, revision ${revision} and index ${index}, is not of this export`);
}

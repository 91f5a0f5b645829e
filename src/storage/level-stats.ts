/** Parses LevelDB's statistics of compactions, a table of text. */
import { assert } from '#base';

/** One level of tables, since the store was opened. LevelDB rounds seconds, and bytes to MiB. */
export interface LevelStats {
  /** 0: tables that were just written out of memory; the deeper, the older the rows. */
  readonly level: number;
  readonly tables: number;
  /** Spent on compactions into this level. */
  readonly seconds: number;
  readonly readBytes: number;
  readonly writtenBytes: number;
}

const MEBIBYTE = 2 ** 20;
/** The heading ends here; a row follows for each level that has tables, or was compacted into. */
const RULE = /^-+$/;
/** Level, tables, size in MB, seconds, MB read, MB written. */
const COLUMNS = 6;

/** Reads the property `leveldb.stats`. */
export function readLevelStats(text: string): readonly LevelStats[] {
  const lines = text.split('\n').map((line) => line.trim());
  const heading = lines.findIndex((line) => RULE.test(line));
  assert(heading >= 0, 'LevelDB writes its statistics as a table', text);
  return lines
    .slice(heading + 1)
    .filter((line) => line !== '')
    .map(readRow);
}

function readRow(line: string): LevelStats {
  const numbers = line.split(/\s+/).map(Number);
  const isRow = numbers.length === COLUMNS && numbers.every((number) => Number.isFinite(number));
  assert(isRow, 'LevelDB writes a row of six numbers for each level', line);
  const [level = 0, tables = 0, , seconds = 0, read = 0, written = 0] = numbers;
  return { level, tables, seconds, readBytes: read * MEBIBYTE, writtenBytes: written * MEBIBYTE };
}

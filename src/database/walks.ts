/**
 * Walks over many rows or records, in slices, such as heads by prefix (the listings). Each is an async generator that
 * yields the rows of one fetch. Leaving the loop early closes the underlying range.
 */
import { compareBytes } from '#base';
import type { HistoryRange, KvRange, KvRow } from '#kv';
import { type HeadContent, readHead } from './head.ts';
import { type HeadKind, headTerm } from './keys.ts';
import type { DatabaseReader } from './reader.ts';
import type { StoredRecord } from './record.ts';

const ROWS_PER_WAIT = 256;
/** A read of so many fits in the memory that a reader uses again. */
const RECORD_BYTES_PER_WAIT: number = 96 * 1024;

export interface HeadWalk {
  readonly kind: HeadKind;
  /** Only terms that begin with it. */
  readonly prefix: Uint8Array;
  /** Only terms after it, in byte order. */
  readonly after?: Uint8Array;
}

/** Heads in the byte order of their terms, never "no subject". */
export async function* walkHeads(reader: DatabaseReader, walk: HeadWalk): AsyncGenerator<readonly HeadContent[]> {
  const { gte, lt } = reader.keys.heads(walk.kind, walk.prefix);
  const start = walk.after === undefined ? gte : laterKey(gte, behindTerm(reader, walk.kind, walk.after));
  for await (const rows of slices(reader.source.kv.range({ gte: start, lt }))) {
    yield rows.map(({ key, value }) => readHead({ kind: walk.kind, term: headTerm(walk.kind, key) }, key, value));
  }
}

/** The records of a range of the history, slice by slice; a slice that is lent is valid until the next one. */
export async function* walkHistory(
  reader: DatabaseReader,
  { from, to }: HistoryRange,
): AsyncGenerator<readonly StoredRecord[]> {
  for (let at = from; at < to; ) {
    const { records, end } = await reader.records({ from: at, to }, RECORD_BYTES_PER_WAIT);
    at = end;
    yield records;
    reader.release();
  }
}

/** The rows of a range, slice by slice; closes it at the end and when the loop is left. */
export async function* slices(range: KvRange, perWait: number = ROWS_PER_WAIT): AsyncGenerator<readonly KvRow[]> {
  try {
    for (;;) {
      const rows = await range.next(perWait);
      if (rows.length === 0) return;
      yield rows;
    }
  } finally {
    await range.close();
  }
}

function behindTerm(reader: DatabaseReader, kind: HeadKind, term: Uint8Array): Uint8Array {
  // A term ends with 00, so the least key after it ends with 01: longer terms with this prefix are included.
  const key = reader.keys.head({ kind, term }).slice();
  key[key.length - 1] = 1;
  return key;
}

function laterKey(left: Uint8Array, right: Uint8Array): Uint8Array {
  return compareBytes(left, right) < 0 ? right : left;
}

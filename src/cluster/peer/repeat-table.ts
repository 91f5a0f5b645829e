/**
 * Beats, or answers to beats, of many groups to one node, of which mostly nothing changes from one time to the next.
 *
 * ```
 *   writer                                         reader
 *   seq 7: all rows                 ── table 7 ──>  holds 7
 *                                  <── "I hold 7" ──
 *   seq 8: what differs from 7      ── 7 to 8 ────>  7 with the differences is 8: all rows of it are handed on
 *   seq 9: 8 is not confirmed
 *          (lost, late): all rows   ── table 9 ──>  holds 9
 * ```
 * A table is what was sent at one time, a row for each group. Its name, a session and a seq, is given once: a writer
 * draws its session when it is made, and counts. A reader that holds a table therefore holds the very rows that the
 * writer gave that name (P2), by induction: a whole table says them, and a difference is applied only to the table that
 * it is a difference to. Nothing depends on connections, on order or on what the writer believes: a difference that
 * does not fit is dropped like a frame that was lost, and since only a confirmed table is the base of a difference, the
 * next one is whole.
 *
 * ```
 * table   := u64 session, varint seq, u8 is a difference,
 *            if it is one: varint count, (varint group)*                    groups that are not in it any more
 *            varint count, (route, fields)*                                 rows that are new or differ; or all
 * fields  := varint term, varint commit, varint round                       of a beat
 *          | varint term, varint round                                      of an answer to one
 * ```
 */
import type { ByteReader, ByteWriter, GroupId } from '#base';
import type { Message } from '#raft';
import type { Envelope } from './envelope.ts';
import { type Ends, fail, readGroup, readRoute, writeRoute } from './message-bytes.ts';

type Repeated = Extract<Message, { readonly kind: 'beat' | 'beat-ack' }>;

/** How the rows of a table look. */
export interface RowShape<M extends Repeated> {
  writeFields(writer: ByteWriter, message: M): void;
  readFields(reader: ByteReader): M;
  isSame(one: M, other: M): boolean;
}

/** The name of a table; session 0 is nobody's. */
export interface TableName {
  readonly session: number;
  readonly seq: number;
}

/** Rows of one table. Beats of more groups than these travel one by one, which is correct, and only larger. */
export const TABLE_ROWS_MAX: number = 2 ** 14;

const NO_TABLE: TableName = { session: 0, seq: 0 };

interface Row<M extends Repeated> {
  envelope: Envelope<M>;
  /** The table that it was last in. */
  seq: number;
}

/** What a turn has to say, against what was said last. */
interface Comparison<M extends Repeated> {
  readonly differing: readonly Envelope<M>[];
  readonly gone: readonly GroupId[];
  /** Beyond the first of a group, or beyond the table. */
  readonly rest: readonly Envelope<M>[];
}

export class TableWriter<M extends Repeated> {
  readonly #shape: RowShape<M>;
  readonly #session: number;
  readonly #rows = new Map<GroupId, Row<M>>();
  #seq = 0;
  #confirmed = 0;

  /** `session` is a number that no other writer of this node ever had. */
  constructor(shape: RowShape<M>, session: number) {
    this.#shape = shape;
    this.#session = session;
  }

  /** The other end says which table it holds; whatever else it names, it has forgotten or never had ours. */
  confirm({ session, seq }: TableName): void {
    this.#confirmed = session === this.#session ? seq : 0;
  }

  /** The next table is whole: the connection broke, and what was under way with it. */
  forget(): void {
    this.#confirmed = 0;
  }

  /**
   * Whether these are worth a table. Others travel one by one and leave the table what it is: beats of a few groups
   * between two regular times, which confirm reads, must not push all the rest out of it. They have another round than
   * the last; where most are the same it is the regular time.
   */
  takes(envelopes: readonly Envelope<M>[]): boolean {
    if (envelopes.length === 0 || 2 * envelopes.length >= this.#rows.size) return envelopes.length > 0;
    let same = 0;
    for (const envelope of envelopes) {
      const row = this.#rows.get(envelope.group);
      if (row !== undefined && this.#isSame(row.envelope, envelope)) same += 1;
    }
    return 2 * same >= envelopes.length;
  }

  /** Makes these the next table and writes it. Returns what has no place in it. */
  write(writer: ByteWriter, envelopes: readonly Envelope<M>[], ends: Ends): readonly Envelope<M>[] {
    const isDifference = this.#seq > 0 && this.#confirmed === this.#seq;
    this.#seq += 1;
    const { differing, gone, rest } = this.#compare(envelopes);
    writer.u64le(this.#session);
    writer.varint(this.#seq);
    writer.u8(isDifference ? 1 : 0);
    if (isDifference) {
      writer.varint(gone.length);
      for (const group of gone) writer.varint(group);
      writer.varint(differing.length);
      for (const envelope of differing) this.#writeRow(writer, envelope, ends);
    } else {
      writer.varint(this.#rows.size);
      for (const { envelope } of this.#rows.values()) this.#writeRow(writer, envelope, ends);
    }
    return rest;
  }

  #compare(envelopes: readonly Envelope<M>[]): Comparison<M> {
    const rows = this.#rows;
    const seq = this.#seq;
    const differing: Envelope<M>[] = [];
    const rest: Envelope<M>[] = [];
    let count = 0;
    for (const envelope of envelopes) {
      const row = rows.get(envelope.group);
      if (row?.seq === seq || count === TABLE_ROWS_MAX) {
        rest.push(envelope);
        continue;
      }
      count += 1;
      if (row === undefined) rows.set(envelope.group, { envelope, seq });
      else row.seq = seq;
      if (row !== undefined && this.#isSame(row.envelope, envelope)) continue;
      if (row !== undefined) row.envelope = envelope;
      differing.push(envelope);
    }
    const gone: GroupId[] = [];
    if (rows.size > count) for (const [group, row] of rows) if (row.seq !== seq) gone.push(group);
    for (const group of gone) rows.delete(group);
    return { differing, gone, rest };
  }

  #isSame(one: Envelope<M>, other: Envelope<M>): boolean {
    // What is said again and again is mostly the very same object.
    if (one === other) return true;
    return one.from === other.from && one.to === other.to && this.#shape.isSame(one.message, other.message);
  }

  #writeRow(writer: ByteWriter, envelope: Envelope<M>, ends: Ends): void {
    writeRoute(writer, envelope, ends);
    this.#shape.writeFields(writer, envelope.message);
  }
}

/** A table as it was read, not yet taken. */
export interface ReadTable<M extends Repeated> extends TableName {
  readonly isDifference: boolean;
  readonly gone: readonly GroupId[];
  readonly rows: readonly Envelope<M>[];
}

export class TableReader<M extends Repeated> {
  readonly #shape: RowShape<M>;
  readonly #rows = new Map<GroupId, Envelope<M>>();
  #held: TableName = NO_TABLE;

  constructor(shape: RowShape<M>) {
    this.#shape = shape;
  }

  /** What the other end is told, so that it may send differences. */
  get held(): TableName {
    return this.#held;
  }

  /** Reads a table and changes nothing. With `reader.failed` what it returns means nothing. */
  read(reader: ByteReader, ends: Ends): ReadTable<M> {
    const session = reader.u64le();
    const seq = reader.varint();
    const difference = reader.u8();
    if (session === 0 || seq === 0 || difference > 1) fail(reader);
    const gone: GroupId[] = [];
    for (let left = difference === 1 ? countOf(reader) : 0; left > 0 && !reader.failed; left--) {
      gone.push(readGroup(reader));
    }
    const rows: Envelope<M>[] = [];
    for (let left = countOf(reader); left > 0 && !reader.failed; left--) {
      rows.push({ ...readRoute(reader, ends), message: this.#shape.readFields(reader) });
    }
    return { session, seq, isDifference: difference === 1, gone, rows };
  }

  /** Takes what was read: all rows of the table, or undefined when it is a difference to one that is not held. */
  take({ session, seq, isDifference, gone, rows }: ReadTable<M>): readonly Envelope<M>[] | undefined {
    if (!isDifference) this.#rows.clear();
    else if (session !== this.#held.session || seq !== this.#held.seq + 1) return undefined;
    for (const group of gone) this.#rows.delete(group);
    for (const row of rows) this.#rows.set(row.group, row);
    if (this.#rows.size > TABLE_ROWS_MAX) {
      // No writer of ours has such a table.
      this.#rows.clear();
      this.#held = NO_TABLE;
      return undefined;
    }
    this.#held = { session, seq };
    return [...this.#rows.values()];
  }
}

function countOf(reader: ByteReader): number {
  const count = reader.varint();
  if (count > TABLE_ROWS_MAX) fail(reader);
  return count;
}

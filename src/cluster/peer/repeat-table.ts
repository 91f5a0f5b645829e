/**
 * Delta encoding of heartbeats, or acknowledgements of them, of many groups to one node, which rarely change. Rows of
 * idle groups (sent-table.ts) are neither compared nor written again: an unchanged heartbeat costs the same for one
 * group and for thousands.
 *
 * ```
 *   writer                                         reader
 *   seq 7: all rows                 ── table 7 ──>  holds 7
 *                                  <── "I hold 7" ──
 *   seq 8: differences from 7       ── 7 to 8 ────>  7 with the differences is 8: receives all its rows
 *   seq 9: 8 is not confirmed
 *          (lost, late): all rows   ── table 9 ──>  holds 9
 * ```
 * A table has one row for each group. Its name, a session and a seq, is unique: a writer draws its session when it is
 * created, and counts. So a reader that holds a table has exactly the rows that the writer gave that name (P2): a whole
 * table contains all rows, and a difference is applied only to the table that it was made from.
 * Nothing depends on connections, on order or on assumptions of the writer: a difference that does not fit is dropped
 * like a lost frame, and the next table is whole, because only a confirmed table is the base of a difference.
 *
 * ```
 * table   := u64 session, varint seq, u8 is a difference,
 *            if it is one: varint count, (varint group)*                    groups that are not in it any more
 *            varint count, (route, fields)*                                 rows that are new or differ; or all
 * fields  := varint term, varint commit, varint round                       of a beat
 *          | varint term, varint round                                      of an answer to one
 * ```
 */
import { type ByteReader, type ByteWriter, type Field, fail, type GroupId } from '#base';
import { GROUP } from './fields.ts';
import type { Envelope } from './links.ts';
import { type Ends, readRoute, writeRoute } from './message-bytes.ts';
import { type Repeated, type SentTable, TABLE_ROWS_MAX } from './sent-table.ts';

/** Encoding of the rows of a table. */
export interface RowShape<M extends Repeated> {
  readonly fields: Field<M>;
  isSame(one: M, other: M): boolean;
}

/** The name of a table; no session has the number 0. */
export interface TableName {
  readonly session: number;
  readonly seq: number;
}

const NO_TABLE: TableName = { session: 0, seq: 0 };

interface Row<M extends Repeated> {
  envelope: Envelope<M>;
  /** The last table with this row. */
  seq: number;
}

/** The rows of a turn, and those of idle groups. */
export interface TableRows<M extends Repeated> {
  readonly envelopes: readonly Envelope<M>[];
  /** Undefined: it is not due. */
  readonly sent?: SentTable<M> | undefined;
}

/** The rows of a turn, compared with the last table. */
interface Comparison<M extends Repeated> {
  readonly differing: readonly Envelope<M>[];
  readonly gone: readonly GroupId[];
  /** Rows beyond the first of a group, or beyond the table. */
  readonly rest: readonly Envelope<M>[];
}

export class TableWriter<M extends Repeated> {
  readonly #shape: RowShape<M>;
  readonly #session: number;
  /** Rows of the last table, without those of idle groups. */
  readonly #rows = new Map<GroupId, Row<M>>();
  /** Idle groups of the last table that had some. */
  #sent: SentTable<M> | undefined;
  #seq = 0;
  #confirmed = 0;

  /** `session` is a number that no other writer of this node has had. */
  constructor(shape: RowShape<M>, session: number) {
    this.#shape = shape;
    this.#session = session;
  }

  /** The reader confirms the table that it holds. Another session means that it has lost ours, or never had it. */
  confirm({ session, seq }: TableName): void {
    this.#confirmed = session === this.#session ? seq : 0;
  }

  /** The connection broke with frames in flight: the next table is whole. */
  forget(): void {
    this.#confirmed = 0;
  }

  /**
   * Tells whether these become a table. Others are sent one by one and leave the table unchanged: heartbeats of a few
   * groups between two regular times, which confirm reads, must not evict all other rows. Their round differs from the
   * last; where most are equal, it is the regular time. Idle groups are written only then.
   */
  takes(envelopes: readonly Envelope<M>[], sent?: SentTable<M>): boolean {
    if (sent !== undefined && sent.rows.size > 0) return true;
    if (this.#sent !== undefined && this.#sent.rows.size > 0) return false;
    if (envelopes.length === 0 || 2 * envelopes.length >= this.#rows.size) return envelopes.length > 0;
    let same = 0;
    for (const envelope of envelopes) {
      const row = this.#rows.get(envelope.group);
      if (row !== undefined && this.#isSame(row.envelope, envelope)) same += 1;
    }
    return 2 * same >= envelopes.length;
  }

  /** Writes these, and those of idle groups, as the next table. Returns the rows that do not fit. */
  write(writer: ByteWriter, { envelopes, sent = this.#sent }: TableRows<M>, ends: Ends): readonly Envelope<M>[] {
    // The changes since another set of idle groups are unknown.
    const isDifference = this.#seq > 0 && this.#confirmed === this.#seq && sent === this.#sent;
    this.#sent = sent;
    this.#seq += 1;
    const { differing, gone, rest } = this.#compare(envelopes, sent);
    writer.u64le(this.#session);
    writer.varint(this.#seq);
    writer.u8(isDifference ? 1 : 0);
    if (isDifference) {
      writer.varint(gone.length);
      for (const group of gone) writer.varint(group);
      writer.varint(differing.length);
      for (const envelope of differing) this.#writeRow(writer, envelope, ends);
    } else {
      writer.varint(this.#rows.size + (sent?.rows.size ?? 0));
      for (const { envelope } of this.#rows.values()) this.#writeRow(writer, envelope, ends);
      for (const envelope of sent?.rows.values() ?? []) this.#writeRow(writer, envelope, ends);
    }
    return rest;
  }

  #compare(envelopes: readonly Envelope<M>[], sent: SentTable<M> | undefined): Comparison<M> {
    const rows = this.#rows;
    const seq = this.#seq;
    const differing: Envelope<M>[] = [];
    const rest: Envelope<M>[] = [];
    let count = 0;
    const countMax = TABLE_ROWS_MAX - (sent?.rows.size ?? 0);
    for (const envelope of envelopes) {
      const idle = sent?.rows.get(envelope.group);
      if (idle !== undefined && this.#isSame(idle, envelope)) continue;
      const row = rows.get(envelope.group);
      if (idle !== undefined || row?.seq === seq || count >= countMax) {
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
    const gone = sent === undefined ? [] : this.#compareSent(sent, differing);
    if (rows.size > count) {
      for (const [group, row] of rows) {
        if (row.seq === seq) continue;
        rows.delete(group);
        gone.push(group);
      }
    }
    return { differing, gone, rest };
  }

  /** Adds the changes of idle groups since the last table; returns the groups that this one lacks. */
  #compareSent(sent: SentTable<M>, differing: Envelope<M>[]): GroupId[] {
    const gone: GroupId[] = [];
    for (const group of sent.takeChanged()) {
      const idle = sent.rows.get(group);
      const row = this.#rows.get(group);
      if (idle !== undefined) {
        this.#rows.delete(group);
        if (row === undefined || !this.#isSame(row.envelope, idle)) differing.push(idle);
      } else if (row === undefined) gone.push(group);
    }
    return gone;
  }

  #isSame(one: Envelope<M>, other: Envelope<M>): boolean {
    // Repeated rows are mostly the same object.
    if (one === other) return true;
    return one.from === other.from && one.to === other.to && this.#shape.isSame(one.message, other.message);
  }

  #writeRow(writer: ByteWriter, envelope: Envelope<M>, ends: Ends): void {
    writeRoute(writer, envelope, ends);
    this.#shape.fields.write(writer, envelope.message);
  }
}

/** A decoded table that was not applied yet. */
export interface ReadTable<M extends Repeated> extends TableName {
  readonly isDifference: boolean;
  readonly gone: readonly GroupId[];
  readonly rows: readonly Envelope<M>[];
}

/** An applied table, compared with the previous one. */
export interface TakenTable<M extends Repeated = Repeated> {
  /** All rows of it; the next accepted table changes them. */
  readonly rows: ReadonlyMap<GroupId, Envelope<M>>;
  /** The previous table is unknown: all rows are new. */
  readonly isWhole: boolean;
  /** The rows that are new or differ. */
  readonly changed: readonly Envelope<M>[];
  /** Removed groups; if the table is whole, others may be gone, too. */
  readonly gone: readonly GroupId[];
}

export class TableReader<M extends Repeated> {
  readonly #shape: RowShape<M>;
  readonly #rows = new Map<GroupId, Envelope<M>>();
  #held: TableName = NO_TABLE;

  constructor(shape: RowShape<M>) {
    this.#shape = shape;
  }

  /** Sent to the writer, so that it may send differences. */
  get held(): TableName {
    return this.#held;
  }

  /** Reads a table and changes nothing. With `reader.failed` the result is meaningless. */
  read(reader: ByteReader, ends: Ends): ReadTable<M> {
    const session = reader.u64le();
    const seq = reader.varint();
    const difference = reader.u8();
    if (session === 0 || seq === 0 || difference > 1) fail(reader);
    const gone: GroupId[] = [];
    for (let left = difference === 1 ? countOf(reader) : 0; left > 0 && !reader.failed; left--) {
      gone.push(GROUP.read(reader));
    }
    const rows: Envelope<M>[] = [];
    for (let left = countOf(reader); left > 0 && !reader.failed; left--) {
      rows.push({ ...readRoute(reader, ends), message: this.#shape.fields.read(reader) });
    }
    return { session, seq, isDifference: difference === 1, gone, rows };
  }

  /** Applies a table; undefined when it is a difference to a table that is not held. */
  take({ session, seq, isDifference, gone, rows }: ReadTable<M>): TakenTable<M> | undefined {
    if (!isDifference) this.#rows.clear();
    else if (session !== this.#held.session || seq !== this.#held.seq + 1) return undefined;
    for (const group of gone) this.#rows.delete(group);
    for (const row of rows) this.#rows.set(row.group, row);
    if (this.#rows.size > TABLE_ROWS_MAX) {
      this.#rows.clear();
      this.#held = NO_TABLE;
      return undefined;
    }
    this.#held = { session, seq };
    return { rows: this.#rows, isWhole: !isDifference, changed: rows, gone };
  }
}

function countOf(reader: ByteReader): number {
  const count = reader.varint();
  if (count > TABLE_ROWS_MAX) fail(reader);
  return count;
}

/**
 * The audit of a database: every row must be there, with the content that was written.
 *
 * Each row has a checksum, which shows changed content. It does not show that a row is missing. The applied row does,
 * because it counts: each transaction has two rows, and each event is in one list of each kind, in one row of ids and
 * in one of times.
 *
 * ```
 * revision       rows of transactions; rows of positions, with numbers 1, 2, 3 …
 * total events   for streams, types, subjects and sources each: the sum of the heads' counts, and the entries in heads
 *                and chunks; places in rows of ids; entries in rows of times
 * definitions    rows of definitions
 * ```
 *   D26  The rows that nothing counts are tips of spilled heads, refusals and parts of components. Every other missing
 *        row is a fault of the audit, and so is every changed key and value.
 */
import { CATALOG_GROUP, DatabaseError, type GroupId, toGroupId, toHex } from '#base';
import { type KvReader, readU32, STORE_DAMAGED } from '#kv';
import { type Applied, readAppliedRow } from './applied.ts';
import { isFaultOfRow, verifyRow } from './corruption.ts';
import { readChunk, readHead } from './head.ts';
import {
  GROUP_PREFIX_BYTES,
  HEAD_KIND,
  type HeadKind,
  RowKeys,
  revisionOfPosition,
  SUBJECT_NONE_BYTES,
  TABLE,
  tableOfKey,
} from './keys.ts';
import type { DatabaseSource } from './reader.ts';
import { readEventIdRow } from './small-rows.ts';
import { slices } from './walks.ts';

/** A walk with a wait for every 256 rows takes half as much processor again. */
const ROWS_PER_WAIT = 2048;
/** After the last key of a database. */
const ROWS_END = Uint8Array.of(2);
const KIND_OF_CHUNK_AT = 6;
const KINDS: ReadonlyMap<number, readonly [HeadKind, string]> = new Map(
  Object.entries(HEAD_KIND).map(([name, kind]) => [kind, [kind, name.toLowerCase()]]),
);

/** Rows of one database in a store. */
export type AuditedRows = Pick<DatabaseSource, 'kv' | 'group'>;

/** Reads every row of a database, as of one moment. Returns the first fault as text. */
export async function auditDatabase(source: AuditedRows): Promise<string | undefined> {
  return audit(source, 'the applied row is missing', async () => undefined);
}

/**
 * The same while the database may be created, deleted or rebuilt: its rows count only with the applied row. `pause` is
 * called with the bytes of some rows after they were read. All rows are as of the start. LevelDB keeps rows that were
 * replaced since then, so the audit should not take long.
 */
export async function auditInUse(
  source: AuditedRows,
  pause: (bytes: number) => Promise<void>,
): Promise<string | undefined> {
  return audit(source, undefined, pause);
}

/**
 * The groups of all databases of which a store has rows.
 * @throws DatabaseError `StoreDamaged` for a key without a group
 */
export async function* groupsWithRows(kv: KvReader): AsyncGenerator<GroupId> {
  let { lt: from } = new RowKeys(CATALOG_GROUP).all();
  for (;;) {
    let group: GroupId | undefined;
    for await (const [row] of slices(kv.range({ gte: from, lt: ROWS_END, limit: 1, values: false }), 1)) {
      group = row && groupOfKey(row.key);
    }
    if (group === undefined) return;
    yield group;
    from = new RowKeys(group).all().lt;
  }
}

function groupOfKey(key: Uint8Array): GroupId {
  if (key.length >= GROUP_PREFIX_BYTES) return toGroupId(readU32(key, 1));
  const message = `LevelDB has a row with key ${toHex(key)}, which is too short to name a group`;
  throw new DatabaseError('internal', message, { details: { reason: STORE_DAMAGED } });
}

async function audit(
  { kv, group }: AuditedRows,
  unapplied: string | undefined,
  pause: (bytes: number) => Promise<void>,
): Promise<string | undefined> {
  const keys = new RowKeys(group);
  const count = new RowCount();
  let isApplied = false;
  let applied: Applied | undefined;
  try {
    for await (const rows of slices(kv.range({ ...keys.all(), fillCache: false }), ROWS_PER_WAIT)) {
      let bytes = 0;
      for (const { key, value } of rows) {
        bytes += key.length + value.length;
        // The first row, if it is there.
        isApplied ||= tableOfKey(key) === TABLE.APPLIED;
        if (tableOfKey(key) === TABLE.APPLIED) applied = readAppliedRow(key, value);
        else if (isApplied) count.take(key, value);
      }
      await pause(bytes);
    }
  } catch (failure) {
    if (isFaultOfRow(failure)) return failure.message;
    throw failure;
  }
  return applied === undefined ? unapplied : count.faultIn(applied);
}

/** Adds up the rows of a database. */
class RowCount {
  #transactions = 0;
  #positions = 0;
  #lastPosition = 0;
  #definitions = 0;
  #ids = 0;
  #times = 0;
  /** For each kind of head: the sum of the heads' counts, and the entries in heads and chunks. */
  readonly #listed = new Map<number, { events: number; entries: number }>();

  take(key: Uint8Array, value: Uint8Array): void {
    const table = tableOfKey(key);
    const [kind] = KINDS.get(table) ?? [];
    if (kind !== undefined) this.#takeHead(kind, key, value);
    else if (table === TABLE.CHUNK) this.#list(key[KIND_OF_CHUNK_AT] ?? 0, 0, readChunk(key, value).count);
    else if (table === TABLE.EVENT_ID) this.#ids += readEventIdRow(key, value).length;
    else if (table === TABLE.TIME) this.#times += readChunk(key, value).count;
    else {
      verifyRow(key, value);
      if (table === TABLE.TRANSACTION) this.#transactions += 1;
      else if (table === TABLE.DEFINITION) this.#definitions += 1;
      else if (table === TABLE.POSITION) this.#takePosition(key);
    }
  }

  faultIn({ revision, totalEvents, definitions }: Applied): string | undefined {
    const found: [string, number, number][] = [
      ['rows of transactions', this.#transactions, revision],
      ['rows of positions', this.#positions, revision],
      ['the number in the last row of positions', this.#lastPosition, revision],
      ['events in rows of ids', this.#ids, totalEvents],
      ['events in rows of times', this.#times, totalEvents],
      ['rows of definitions', this.#definitions, definitions],
    ];
    for (const [kind, name] of KINDS.values()) {
      const { events = 0, entries = 0 } = this.#listed.get(kind) ?? {};
      found.push([`events in the heads of each ${name}`, events, totalEvents]);
      found.push([`entries in the lists of each ${name}`, entries, totalEvents]);
    }
    const fault = found.find(([, counted, due]) => counted !== due);
    return fault && `${fault[0]}: ${fault[1]} instead of ${fault[2]}`;
  }

  #takeHead(kind: HeadKind, key: Uint8Array, value: Uint8Array): void {
    const hasTerm = kind !== HEAD_KIND.SUBJECT || key.length > SUBJECT_NONE_BYTES;
    const { count, inlineCount } = readHead({ kind, term: hasTerm ? key : undefined }, key, value);
    this.#list(kind, count, inlineCount);
  }

  #takePosition(key: Uint8Array): void {
    this.#positions += 1;
    this.#lastPosition = revisionOfPosition(key);
  }

  #list(kind: number, events: number, entries: number): void {
    const sum = this.#listed.get(kind) ?? { events: 0, entries: 0 };
    sum.events += events;
    sum.entries += entries;
    this.#listed.set(kind, sum);
  }
}

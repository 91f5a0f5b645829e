/**
 * Tables with many events in PostgreSQL: filled with COPY, read through the indexes that an event store needs (subject
 * and type, each in order of position), and scanned with a cursor.
 */
import { copyIn, eventsIndexes, eventsTable, type PgbenchScript, type Postgres, psql } from './postgres.ts';

const ROWS_PER_CHUNK = 1000;
const ROWS_PER_FETCH = 5000;
const DIGITS = 12;

export interface TableLoad {
  readonly table: string;
  /** Default `orders`. */
  readonly stream?: string;
  readonly events: number;
  readonly subjects: number;
  readonly eventBytes: number;
}

/** Creates a table with `events` events, spread over `subjects` subjects like the databases of the other contenders. */
export async function loadTable(server: Postgres, load: TableLoad): Promise<void> {
  const { table } = load;
  await psql(server, eventsTable(table));
  await copyIn(server, `${table} (position, id, stream, type, subject, data)`, rows(load));
  const next = `SELECT setval(pg_get_serial_sequence('${table}', 'position'), ${load.events + 1})`;
  const indexes = eventsIndexes(table, `INDEX ${table}_subject ON ${table} (subject, position)`);
  for (const statement of [...indexes, next, `VACUUM ANALYZE ${table}`, 'CHECKPOINT']) await psql(server, statement);
  if (load.events === 0) return;
  // Checks the content, because reads without results would be fast.
  const found = await psql(server, `SELECT count(*) FROM ${table} WHERE subject = 'subject-${'0'.repeat(DIGITS)}'`);
  const wanted = String(Math.ceil(load.events / load.subjects));
  if (found !== wanted) throw new Error(`${table} has ${found} events of its first subject instead of ${wanted}`);
}

/** Reads the events of one subject; each call moves on by `stride` subjects, and clients start at different ones. */
export function subjectScript(
  { table, subjects }: Pick<TableLoad, 'table' | 'subjects'>,
  stride: number,
): { readonly script: PgbenchScript; readonly variables: Readonly<Record<string, number>> } {
  const text = `\\set n (:n + ${stride}) % ${subjects}
\\set k (:n + :client_id * ${Math.floor(subjects / 17)}) % ${subjects}
SELECT * FROM ${table} WHERE subject = ${subjectText('k')} ORDER BY position;
`;
  return { script: { text }, variables: { n: 0 } };
}

/** Reads the first `limit` events of a subject that pgbench draws. */
export function drawnSubjectScript(table: string, draw: string, limit: number): string {
  return `\\set k ${draw}
SELECT * FROM ${table} WHERE subject = ${subjectText('k')} ORDER BY position LIMIT ${limit};
`;
}

/** Reads one of the events by its position. */
export function drawnPositionScript(table: string, events: number): PgbenchScript {
  return { text: `\\set k random(1, ${events})\nSELECT * FROM ${table} WHERE position = :k;\n` };
}

/** Writes one event of a subject that pgbench draws. */
export function drawnInsertScript(table: string, draw: string, eventBytes: number): string {
  return `\\set k ${draw}
INSERT INTO ${table} (id, stream, type, subject, data) VALUES ('new-' || nextval('subjects'), 'orders',
  'com.example.order.placed', ${subjectText('k')}, decode(repeat('78', ${eventBytes}), 'hex'));
`;
}

/** Subject whose number is in a pgbench variable. */
function subjectText(variable: string): string {
  return `'subject-' || lpad((:${variable})::text, ${DIGITS}, '0')`;
}

/** Reads all events in order of position. */
export function scanScript({ table, events }: Pick<TableLoad, 'table' | 'events'>): PgbenchScript {
  const fetches = Array.from(
    { length: Math.ceil(events / ROWS_PER_FETCH) },
    () => `FETCH ${ROWS_PER_FETCH} FROM events_cursor;`,
  );
  const cursor = `DECLARE events_cursor CURSOR FOR SELECT * FROM ${table} ORDER BY position;`;
  return { text: ['BEGIN;', cursor, ...fetches, 'END;', ''].join('\n') };
}

function* rows(load: TableLoad): Iterable<string> {
  // Hexadecimal, the text format of bytea in COPY.
  const payload = `\\\\x${'78'.repeat(load.eventBytes)}`;
  for (let from = 0; from < load.events; from += ROWS_PER_CHUNK) {
    const chunk: string[] = [];
    for (let n = from; n < Math.min(from + ROWS_PER_CHUNK, load.events); n++) {
      const subject = String(n % load.subjects).padStart(DIGITS, '0');
      chunk.push(
        `${n + 1}\tid-${n}\t${load.stream ?? 'orders'}\tcom.example.order.placed\tsubject-${subject}\t${payload}\n`,
      );
    }
    yield chunk.join('');
  }
}

/**
 * Turns a commit into transactions: one event for each changed file, the author as the principal, the author date as
 * the effective time. Commits are imported in the order in which they entered the history, and authored in another
 * (rebases, patches by mail): so the two time axes of the database really differ.
 *
 * A commit of more files than a transaction may hold, by their number or by their bytes, becomes several transactions
 * in a row. Where they are cut and their ids follow from the commit, so that an import that was cut off is simply
 * started again: what is there already is answered, not repeated.
 */
import { createHash } from 'node:crypto';
import { Event, type LoggedTransaction, type TransactRequest } from './api.ts';
import { FILE_ADDED, FILE_DELETED, FILE_MODIFIED, type FileChange } from './file-change.ts';
import type { Change, Commit } from './git-log.ts';

/** A transaction holds at most 1,000 events and 1,000,000 bytes of them; paths can be long. */
const EVENTS_PER_TRANSACTION = 500;
const BYTES_PER_TRANSACTION = 900_000;
const SUBJECT_BYTES_MAX = 255;
const MESSAGE_BYTES_MAX = 65_536;
const AUTHOR_BYTES_MAX = 4096;
/** End of a text that was cut. */
const CUT_MARK = '… [cut]';

const TYPES: Readonly<Record<Change['kind'], string>> = {
  added: FILE_ADDED,
  modified: FILE_MODIFIED,
  deleted: FILE_DELETED,
};

export function transactionsOf(
  commit: Commit,
  target: { readonly database: string; readonly stream: string },
): readonly TransactRequest[] {
  const { database, stream } = target;
  return eventsOf(commit, stream).map((events, part) => transaction(commit, { database, stream, events, part }));
}

/**
 * The events of each transaction. A commit that changes nothing leaves none, and a transaction has at least one event.
 */
function eventsOf(commit: Commit, stream: string): readonly (readonly Event[])[] {
  const parts: Event[][] = [];
  let last: Event[] = [];
  let lastBytes = 0;
  for (const change of commit.changes) {
    const next = (): Event => fileEvent(commit, change, { stream, id: `${parts.length - 1}.${last.length}` });
    const bytes = Event.encode(next()).finish().length;
    const fits = last.length < EVENTS_PER_TRANSACTION && lastBytes + bytes <= BYTES_PER_TRANSACTION;
    if (parts.length === 0 || !fits) {
      last = [];
      lastBytes = 0;
      parts.push(last);
    }
    last.push(next());
    lastBytes += bytes;
  }
  return parts;
}

/** The id of a transaction of a commit, `part` being its place among them. */
export function transactionIdOf(stream: string, hash: string, part: number): string {
  return uuidOf(`${stream}/${hash}/${part}`);
}

/** The commit that a transaction is of, if it is one of these. */
export function commitOf(logged: LoggedTransaction | undefined): string | undefined {
  return logged?.body?.options?.correlationId;
}

/** The subject of a file: its path, or a short form of it where it is too long or not printable. */
export function subjectOf(path: string): string {
  const printable = !/\p{Cc}/u.test(path) && path.trim() !== '';
  if (printable && Buffer.byteLength(path) <= SUBJECT_BYTES_MAX) return path;
  return `path-sha1:${createHash('sha1').update(path).digest('hex')}`;
}

interface Part {
  readonly database: string;
  readonly stream: string;
  readonly events: readonly Event[];
  readonly part: number;
}

function transaction(commit: Commit, { database, stream, events, part }: Part): TransactRequest {
  return {
    databaseName: database,
    transaction: {
      events: [...events],
      constraints: [],
      transactionId: transactionIdOf(stream, commit.hash, part),
      options: {
        principalAttributes: {
          name: cut(commit.authorName, AUTHOR_BYTES_MAX),
          email: cut(commit.authorEmail, AUTHOR_BYTES_MAX),
        },
        commitMessage: cut(commit.message, MESSAGE_BYTES_MAX),
        correlationId: commit.hash,
      },
    },
    events: [],
    constraints: [],
    options: undefined,
  };
}

/** `id` within the commit. */
function fileEvent(commit: Commit, change: Change, names: { readonly stream: string; readonly id: string }): Event {
  const { path, mode, blob } = change;
  const data: FileChange = { path, mode, blob, commit: commit.hash };
  const authoredMs = Date.parse(commit.authoredAt);
  return Event.fromPartial({
    id: `${commit.hash}:${names.id}`,
    specVersion: '1.0',
    ty: TYPES[change.kind],
    source: `/git/${encodeURIComponent(names.stream)}`,
    subject: subjectOf(path),
    time: { seconds: Math.floor(authoredMs / 1000), nanos: 0 },
    timeText: commit.authoredAt,
    datacontenttype: 'application/json',
    data: Buffer.from(JSON.stringify(data)),
  });
}

/** The text, or as many of its characters as fit in so many bytes of UTF-8 with a mark behind them. */
function cut(text: string, bytesMax: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= bytesMax) return text;
  let end = bytesMax - Buffer.byteLength(CUT_MARK);
  // Not inside a character, whose later bytes all begin with the bits 10.
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return `${bytes.toString('utf8', 0, end)}${CUT_MARK}`;
}

/** A name-based UUID (RFC 9562, version 8: SHA-1 of the name). */
function uuidOf(name: string): string {
  const hash = createHash('sha1').update(name).digest();
  hash.writeUInt8((hash.readUInt8(6) & 0x0f) | 0x80, 6);
  hash.writeUInt8((hash.readUInt8(8) & 0x3f) | 0x80, 8);
  return hash.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/**
 * UmaDB as a contender of benchmarks: starts the server and builds its requests. The stream and the subject of an event
 * are tags. The field numbers are those of umadb.v1.DCB.
 */
import { mkdirSync } from 'node:fs';
import { bytesField, message, varintField } from '../support/protobuf.ts';
import { COUNTER_MARKER, RequestTemplate } from '../support/request-template.ts';
import { freePort, launch, stopProcess, untilListening } from '../support/server-process.ts';

export interface Umadb {
  readonly pid: number;
  readonly address: { readonly host: string; readonly port: number };
  stop(): Promise<void>;
}

export const UMADB_APPEND = '/umadb.v1.DCB/Append';
export const UMADB_READ = '/umadb.v1.DCB/Read';
export const UMADB_SUBSCRIBE = '/umadb.v1.DCB/Subscribe';

const TYPE = 'com.example.order.placed';
const STREAM = 'orders';
/** The largest batch that the server sends. */
const BATCH_EVENTS = 5000;

/** Starts the server in the Python package of this folder, with its default settings. */
export async function startUmadb(directory: string, packageFolder: string): Promise<Umadb> {
  mkdirSync(directory, { recursive: true });
  const port = await freePort();
  const main = 'from umadb.umadb_server_cli import main; main()';
  const args = ['-c', main, `--listen=127.0.0.1:${port}`, `--db-path=${directory}`];
  const env = { ...process.env, PYTHONPATH: packageFolder };
  const child = launch(directory, 'python3', { args, stdio: 'ignore', env });
  await untilListening(port, child);
  return { pid: child.pid ?? 0, address: { host: '127.0.0.1', port }, stop: () => stopProcess(child) };
}

export interface UmadbAppendShape {
  readonly events: number;
  readonly eventBytes: number;
  /** Adds a condition to each request: the subject of its first event must not exist yet. */
  readonly conditional: boolean;
  /** Maps the number of an event to the number of its subject; absent: each event has another subject. */
  subjectOf?(number: number): number;
}

/** Appends of `events` events with about `eventBytes` bytes each, whose data begin with an id. */
export function umadbAppends(shape: UmadbAppendShape, firstCounter: number): RequestTemplate {
  const subject = `subject-${COUNTER_MARKER}`;
  const head = message(bytesField(1, TYPE), bytesField(2, STREAM), bytesField(2, subject));
  const id = `id-${COUNTER_MARKER}`;
  const event = message(head, bytesField(3, id.padEnd(shape.eventBytes - head.length, 'x')));
  const events = Array.from({ length: shape.events }, () => bytesField(1, event));
  const absent = bytesField(2, bytesField(1, umadbTag(subject)));
  return new RequestTemplate(message(...events, ...(shape.conditional ? [absent] : [])), {
    firstCounter,
    // The subject and the id of an event share a number, and a single event shares it with the condition.
    markersPerNumber: shape.events === 1 && shape.conditional ? 3 : 2,
    shown: (number, place) => (place === 1 ? number : (shape.subjectOf?.(number) ?? number)),
  });
}

/** Reads the events of one subject or subscribes to them, each request those of another one. */
export function umadbSubjects(subjectOf: (number: number) => number): RequestTemplate {
  const query = bytesField(1, umadbTag(`subject-${COUNTER_MARKER}`));
  return new RequestTemplate(query, { firstCounter: 0, markersPerNumber: 1, shown: subjectOf });
}

/** Reads the events from a position on, at most `limit` of them; 0 means all. */
export function umadbFrom(position: number, limit: number): Buffer {
  return message(
    varintField(2, position),
    ...(limit === 0 ? [] : [varintField(4, limit)]),
    varintField(6, BATCH_EVENTS),
  );
}

/** A query for the events with a tag. */
export function umadbTag(tag: string): Buffer {
  return bytesField(1, bytesField(2, tag));
}

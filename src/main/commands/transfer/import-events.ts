/**
 * An import: lines become events, events transactions, and these are committed in their order.
 *
 * The id of a transaction depends on its first event alone. If an earlier import has committed a transaction that
 * begins with the same event, the reply is the record of that one, and the import continues after its last event. So a
 * repetition commits nothing twice, also when the input has grown, or its borders have moved.
 */
import { createHash } from 'node:crypto';
import { formatUuid, messageOf, quote } from '#base';
import {
  acceptJsonEvent,
  Faults,
  type JsonObject,
  type Position,
  parseJson,
  RAW_DATA,
  TRANSACTION_BYTES_MAX,
  TRANSACTION_EVENTS_MAX,
  writeJson,
} from '#model';
import { refused } from '../../process/refusals.ts';
import { type AskApi, jsonOf, type Members, memberOf, textIn } from '../http-api.ts';
import { linesOf, positionOf } from './event-lines.ts';
import { type EventMapping, mapEvent } from './event-mapping.ts';

export interface ImportedEvent {
  readonly line: number;
  /** The JSON that is sent. */
  readonly text: string;
  /** The bytes that are stored. */
  readonly bytes: Uint8Array;
  readonly id: string;
  /** In the database that it was exported from. */
  readonly position: Position | undefined;
}

export interface Imported {
  /** Events of the input that the database has. */
  events: number;
  /** New events; the others are of an earlier import. */
  added: number;
  /** New events with another id, because their stream has theirs. */
  renamed: number;
  /** Revision of the last transaction. */
  revision: number;
}

/** White space of JSON. */
const BLANKS = [0x20, 0x09, 0x0d];

/** Empty lines are no events. @throws DatabaseError: a line is no valid event */
export async function* eventsOf(
  chunks: AsyncIterable<Uint8Array>,
  mapping?: EventMapping,
): AsyncGenerator<ImportedEvent> {
  for await (const [line, bytes] of linesOf(chunks)) {
    if (!bytes.every((byte) => BLANKS.includes(byte))) yield readEvent(line, bytes, mapping);
  }
}

function readEvent(line: number, bytes: Uint8Array, mapping: EventMapping | undefined): ImportedEvent {
  const record = parseJson(bytes, mapping === undefined ? { raw: RAW_DATA } : {});
  if (record.kind === 'fault') throw refused(`line ${line} is not JSON: ${record.message.replace('line 1, ', '')}`);
  const event = mapping === undefined ? record : mapEvent(record, mapping);
  if (event.kind !== 'object') throw refused(`line ${line} must be a JSON object, not ${event.kind}`);
  const members = new Map(event.members);
  // Only the server sets this attribute.
  const position = members.has('recordedtime') ? positionOf(event) : undefined;
  if (position !== undefined) for (const name of ['revision', 'index', 'recordedtime']) members.delete(name);
  const [faults, sent]: [Faults, JsonObject] = [new Faults(), { kind: 'object', members }];
  const stored = acceptJsonEvent(sent, { faults, list: 'line', index: line });
  if (stored === undefined) throw faults.toError('The input is malformed');
  const id = members.get('id');
  return { line, text: writeJson(sent), bytes: stored, id: id?.kind === 'string' ? id.value : '', position };
}

/** Groups the events of one exported transaction, or as many as a transaction may have. */
export async function* batchesOf(events: AsyncIterable<ImportedEvent>): AsyncGenerator<readonly ImportedEvent[]> {
  let [batch, byteCount]: [ImportedEvent[], number] = [[], 0];
  for await (const event of events) {
    const last = batch.at(-1);
    byteCount += event.bytes.length;
    const fits = batch.length < TRANSACTION_EVENTS_MAX && byteCount <= TRANSACTION_BYTES_MAX;
    if (last !== undefined && !(fits && areOfOne(last.position, event.position))) {
      yield batch;
      [batch, byteCount] = [[], event.bytes.length];
    }
    batch.push(event);
  }
  if (batch.length > 0) yield batch;
}

/** Both are of one exported transaction, or neither is of any. */
function areOfOne(last: Position | undefined, next: Position | undefined): boolean {
  return last?.revision === next?.revision && (last === undefined || last.index < (next?.index ?? 0));
}

/** `isIntoEmpty`: each transaction requires that nothing but the import has written to the database. */
export interface ImportTarget {
  readonly ask: AskApi;
  readonly database: string;
  readonly isIntoEmpty: boolean;
}

/**
 * Yields its progress after each batch.
 * @throws DatabaseError when a transaction is refused; earlier ones are committed
 */
export async function* importBatches(
  { ask, database, isIntoEmpty }: ImportTarget,
  batches: AsyncIterable<readonly ImportedEvent[]>,
): AsyncGenerator<Readonly<Imported>> {
  const imported: Imported = { events: 0, added: 0, renamed: 0, revision: 0 };
  // Ids of recorded events, and the place of the next one in the input.
  let [ids, next]: [readonly string[], number] = [[], 0];
  let [last, begun]: [ImportedEvent | undefined, number] = [undefined, 0];
  for await (const batch of batches) {
    for (const [place, event] of batch.entries()) {
      if (next === ids.length) {
        const [events, before] = [batch.slice(place), imported.revision];
        const refuse = (cause: unknown): never => {
          throw refused(`lines ${event.line} to ${events.at(-1)?.line}: ${messageOf(cause)}`);
        };
        if (isIntoEmpty && event.position && areOfOne(last?.position, event.position)) refuse(SPLIT);
        const body = bodyOf(event, events, isIntoEmpty ? before : undefined);
        const answer = await ask({ method: 'POST', path: `/databases/${database}/events`, body }).catch(refuse);
        [ids, next, begun] = [count(imported, jsonOf(answer.body.toString())), 0, event.line];
        if (isIntoEmpty && imported.revision !== before + 1)
          refuse(`they are revision ${imported.revision}, not ${before + 1}`);
      }
      const id = ids[next++] ?? '';
      if (id !== event.id) throw refused(otherEvent(event, begun, id));
      imported.events++;
      last = event;
    }
    yield imported;
  }
}

const SPLIT = 'events of their transaction are committed without them; import the whole export into a new database';

function otherEvent({ line, id }: ImportedEvent, begun: number, recorded: string): string {
  const transaction = `the transaction that begins with the event of line ${begun} has ${quote(recorded)}`;
  const cause = `lines were changed since an earlier import, or line ${begun} repeats an earlier one`;
  return `line ${line} has the event ${quote(id)}, but ${transaction}: ${cause}`;
}

/** `expected`: the revision that the database must have. */
function bodyOf(first: ImportedEvent, events: readonly ImportedEvent[], expected: number | undefined): string {
  const constraint = expected === undefined ? '' : `"constraints":[{"min_revision":{"revision":${expected}}}],`;
  return `{"transaction_id":"${transactionIdOf(first)}",${constraint}"events":[${events.map(({ text }) => text).join()}]}`;
}

function transactionIdOf({ bytes }: ImportedEvent): string {
  const id = createHash('sha256').update('cairn import\n').update(bytes).digest();
  // Version 8 (RFC 9562): a hash of our own.
  id[6] = 0x80 | ((id[6] ?? 0) & 0x0f);
  id[8] = 0x80 | ((id[8] ?? 0) & 0x3f);
  return formatUuid(id);
}

/** Counts a recorded transaction. Returns the ids of its events as they were sent. */
function count(imported: Imported, { revision, replayed, event_id_mappings: mappings }: Members): readonly string[] {
  const ids = Array.isArray(mappings) ? mappings.map(memberOf) : [];
  if (typeof revision !== 'number' || ids.length === 0) throw refused('the answer is no record of a transaction');
  imported.revision = revision;
  if (replayed !== true) {
    imported.added += ids.length;
    imported.renamed += ids.filter((id) => id['client_event_id'] !== id['stored_event_id']).length;
  }
  return ids.map((id) => textIn(id, 'client_event_id'));
}

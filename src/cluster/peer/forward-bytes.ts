/**
 * Encodes forwarded requests and their replies as the content of a frame.
 *
 * ```
 * content   := item*
 * item      := u8 kind, varint session, varint id, fields | fence | leaving | full | clock | history
 * propose   := 1   varint group, varint length, payload
 * create    := 2   text name
 * accepted  := 3   varint index, varint term
 * refused   := 4   text code, text message, text reason, varint retry after ms + 1, varint node that leads
 * fence     := 5 to 8 (await-past, await-shown, shown, past), varint index
 * leaving   := 9
 * full      := 10
 * clock     := 11 (ask) varint asked ms | 12 (told) varint asked ms, varint wall clock ms
 * history   := u8 13 to 16, varint group, varint replica, varint term, fields
 * compare   := 13  varint length, standing
 * same      := 14
 * differs   := 15  text reason
 * acknowledged := 16  varint index, varint term
 * text      := varint length, UTF-8
 * ```
 * Clocks and histories are sent at feature level 5 and above: a node that does not know them drops the frame.
 * In `refused` an empty reason is none, and so is 0 for the two numbers.
 *
 * Reading any bytes ends and never throws; a content with any fault gives nothing.
 */
import {
  type ByteReader,
  type ByteWriter,
  DatabaseError,
  ERROR_CODES,
  type ErrorDetails,
  encodeUtf8,
  hasNode,
  isNodeId,
  isReplicaId,
  type ReplicaId,
  toReplicaId,
} from '#base';
import type { DepartureItem, FenceItem, ForwardItem, HistoryItem } from './forward.ts';
import { fail, readGroup, readId, readIndex, readTerm, writeId } from './message-bytes.ts';

const TAGS = { propose: 1, create: 2, accepted: 3, refused: 4 } as const;
const FENCE_TAGS = { 'await-past': 5, 'await-shown': 6, shown: 7, past: 8 } as const;
const FENCE_KINDS: ReadonlyMap<number, FenceItem['kind']> = new Map([
  [FENCE_TAGS['await-past'], 'await-past'],
  [FENCE_TAGS['await-shown'], 'await-shown'],
  [FENCE_TAGS.shown, 'shown'],
  [FENCE_TAGS.past, 'past'],
]);

const CLOCK_TAGS = { 'clock-ask': 11, 'clock-told': 12 } as const;
const DEPARTURE_TAGS = { leaving: 9, full: 10 } as const;
const DEPARTURE_KINDS: ReadonlyMap<number, DepartureItem['kind']> = new Map([
  [DEPARTURE_TAGS.leaving, 'leaving'],
  [DEPARTURE_TAGS.full, 'full'],
]);

const HISTORY_TAGS = { compare: 13, same: 14, differs: 15, acknowledged: 16 } as const;

/** Maximum number of items of one frame. */
export const FORWARDS_MAX: number = 2 ** 15;

export function writeForward(writer: ByteWriter, item: ForwardItem): void {
  if (item.kind === 'leaving' || item.kind === 'full') {
    writer.u8(DEPARTURE_TAGS[item.kind]);
    return;
  }
  if (item.kind === 'clock-ask' || item.kind === 'clock-told') {
    writer.u8(CLOCK_TAGS[item.kind]);
    writer.varint(item.askedMs);
    if (item.kind === 'clock-told') writer.varint(item.wallMs);
    return;
  }
  if ('replica' in item) return writeHistory(writer, item);
  if (!('session' in item)) {
    writer.u8(FENCE_TAGS[item.kind]);
    writer.varint(item.index);
    return;
  }
  writer.u8(TAGS[item.kind]);
  writer.varint(item.session);
  writer.varint(item.id);
  switch (item.kind) {
    case 'propose':
      writer.varint(item.group);
      writer.varint(item.payload.length);
      writer.bytes(item.payload);
      break;
    case 'create':
      writeText(writer, item.name);
      break;
    case 'accepted':
      writer.varint(item.index);
      writer.varint(item.term);
      break;
    case 'refused':
      writeError(writer, item.error);
      break;
  }
}

/** Reads to the end of the content. When the reader has failed, the result is meaningless. */
export function readForwards(reader: ByteReader): readonly ForwardItem[] {
  const items: ForwardItem[] = [];
  while (reader.left > 0 && !reader.failed) {
    const item = readForward(reader);
    if (item === undefined || items.length === FORWARDS_MAX) fail(reader);
    else items.push(item);
  }
  return items;
}

function readForward(reader: ByteReader): ForwardItem | undefined {
  const tag = reader.u8();
  const fenceKind = FENCE_KINDS.get(tag);
  if (fenceKind !== undefined) return { kind: fenceKind, index: readIndex(reader) };
  const departureKind = DEPARTURE_KINDS.get(tag);
  if (departureKind !== undefined) return { kind: departureKind };
  if (tag === CLOCK_TAGS['clock-ask']) return { kind: 'clock-ask', askedMs: reader.varint() };
  if (tag === CLOCK_TAGS['clock-told'])
    return { kind: 'clock-told', askedMs: reader.varint(), wallMs: reader.varint() };
  if (tag >= HISTORY_TAGS.compare && tag <= HISTORY_TAGS.acknowledged) return readHistory(reader, tag);
  const number = { session: reader.varint(), id: reader.varint() };
  switch (tag) {
    case TAGS.propose: {
      const group = readGroup(reader);
      // The leader writes its time into the payload, so it must not be a view of a shared frame.
      return { kind: 'propose', ...number, group, payload: Uint8Array.from(reader.bytes(reader.varint())) };
    }
    case TAGS.create:
      return { kind: 'create', ...number, name: readText(reader) };
    case TAGS.accepted:
      return { kind: 'accepted', ...number, index: readIndex(reader), term: readTerm(reader) };
    case TAGS.refused:
      return { kind: 'refused', ...number, error: readError(reader) };
    default:
      return undefined;
  }
}

function writeHistory(writer: ByteWriter, item: HistoryItem): void {
  writer.u8(HISTORY_TAGS[item.kind]);
  writer.varint(item.group);
  writer.varint(item.replica);
  writer.varint(item.term);
  if (item.kind === 'differs') writeText(writer, item.reason);
  if (item.kind === 'acknowledged') writeId(writer, item.acknowledged);
  if (item.kind !== 'compare') return;
  writer.varint(item.standing.length);
  writer.bytes(item.standing);
}

function readHistory(reader: ByteReader, tag: number): HistoryItem {
  const about = { group: readGroup(reader), replica: readAnyReplica(reader), term: readTerm(reader) };
  if (tag === HISTORY_TAGS.same) return { kind: 'same', ...about };
  if (tag === HISTORY_TAGS.differs) return { kind: 'differs', ...about, reason: readText(reader) };
  if (tag === HISTORY_TAGS.acknowledged) return { kind: 'acknowledged', ...about, acknowledged: readId(reader) };
  return { kind: 'compare', ...about, standing: reader.bytes(reader.varint()).slice() };
}

/** With `failed`, any. */
function readAnyReplica(reader: ByteReader): ReplicaId {
  const replica = reader.varint();
  if (isReplicaId(replica) && hasNode(replica)) return replica;
  fail(reader);
  return toReplicaId(1);
}

function writeError(writer: ByteWriter, { code, message, details }: DatabaseError): void {
  writeText(writer, code);
  writeText(writer, message);
  writeText(writer, details.reason ?? '');
  writer.varint(details.retryAfterMs === undefined ? 0 : details.retryAfterMs + 1);
  writer.varint(details.leaderNode ?? 0);
}

function readError(reader: ByteReader): DatabaseError {
  const name = readText(reader);
  const code = ERROR_CODES.find((each) => each === name);
  if (code === undefined) fail(reader);
  const message = readText(reader);
  const reason = readText(reader);
  const retryAfter = reader.varint();
  const leader = reader.varint();
  if (leader !== 0 && !isNodeId(leader)) fail(reader);
  const details: ErrorDetails = {
    ...(reason !== '' && { reason }),
    ...(retryAfter > 0 && { retryAfterMs: retryAfter - 1 }),
    ...(isNodeId(leader) && { leaderNode: leader }),
  };
  return new DatabaseError(code ?? 'internal', message, { details });
}

function writeText(writer: ByteWriter, text: string): void {
  const bytes = encodeUtf8(text);
  writer.varint(bytes.length);
  writer.bytes(bytes);
}

function readText(reader: ByteReader): string {
  return reader.utf8(reader.varint());
}

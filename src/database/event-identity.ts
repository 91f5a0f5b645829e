/**
 * The identity of an event: its stream and its stored id, and the hash of both, which is the key of its index row.
 */
import { encodeUtf8, equalsRange } from '#base';
import { eventFacts } from '#model';
import { HASH_DOMAIN, KeyHash } from './key-hash.ts';
import type { EventPlace } from './posting.ts';
import type { DatabaseReader, StoredEvent } from './reader.ts';
import { readEventIdRow } from './small-rows.ts';

/** Bytes of an id: `bytes[from, to)`, in a stream. */
export interface IdBytes {
  readonly stream: Uint8Array;
  readonly bytes: Uint8Array;
  readonly from: number;
  readonly to: number;
}

/** A row of ids does not say when the event was recorded, nor under which id: its transaction does. */
const UNKNOWN = { seconds: 0, nanos: 0, recordedTimeMs: 0, hasStoredId: true };

/** The event known by this id in this stream, at the revision or before; undefined when there is none. */
export async function findEvent(
  reader: DatabaseReader,
  wanted: { readonly stream: string; readonly id: string; readonly at: number },
  hash: KeyHash = new KeyHash(),
): Promise<StoredEvent | undefined> {
  const bytes = encodeUtf8(wanted.id);
  const id = { stream: encodeUtf8(wanted.stream), bytes, from: 0, to: bytes.length };
  const places = storedPlaces(reader, hashOfId(hash, id)).filter(({ revision }) => revision <= wanted.at);
  const events = await reader.eventsOf(places.map((place) => ({ ...place, ...UNKNOWN })));
  return events.find((event) => isIdOf(id, event.bytes, event.storedId));
}

/** The places of all events whose id has this hash. */
export function storedPlaces(reader: DatabaseReader, { high, low }: KeyHash): readonly EventPlace[] {
  const key = reader.keys.eventId(high, low);
  const value = reader.source.kv.get(key);
  return value === undefined ? [] : readEventIdRow(key, value);
}

/** The ending that makes a taken id another one. */
export function endingOf(revision: number, index: number): string {
  return `~${revision}.${index}`;
}

/** The hash of an id, left in `hash`. */
export function hashOfId(hash: KeyHash, { stream, bytes, from, to }: IdBytes): KeyHash {
  hash.start(HASH_DOMAIN.EVENT_ID);
  hash.add(stream, 0, stream.length);
  hash.separate();
  hash.add(bytes, from, to);
  hash.finish();
  return hash;
}

export function isSameId(left: IdBytes, right: IdBytes): boolean {
  if (!equalsRange(left.stream, right.stream, 0, right.stream.length)) return false;
  return equalsRange(left.bytes.subarray(left.from, left.to), right.bytes, right.from, right.to);
}

/** True when a stored event has this id: canonical bytes, and the stored id if it differs. */
export function isIdOf(id: IdBytes, event: Uint8Array, storedId: string | undefined): boolean {
  const { streamStart, streamEnd, idStart, idEnd } = eventFacts(event, 0, event.length);
  const stream = event.subarray(streamStart, streamEnd);
  if (storedId === undefined) return isSameId(id, { stream, bytes: event, from: idStart, to: idEnd });
  const bytes = encodeUtf8(storedId);
  return isSameId(id, { stream, bytes, from: 0, to: bytes.length });
}

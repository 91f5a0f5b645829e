/**
 * Decides which event ids are taken, and the id that a taken one is stored under (SPEC-EVENT-IDS, D2).
 *
 * The pair (stream, stored id) is unique in a database. A free id is stored as it is, a taken one as
 * `{id}~{revision}.{index}`. If that id is taken, too, the same suffix is added again until the result is free. Every
 * earlier event can take an id, also an earlier one of the same transaction.
 */
import { decodeUtf8, encodeUtf8 } from '#base';
import { endingOf, hashOfId, type IdBytes, isIdOf, isSameId, storedPlaces } from './event-identity.ts';
import type { KeyFilter } from './key-filter.ts';
import type { KeyHash } from './key-hash.ts';
import type { SkimmedEvent } from './live-heads.ts';
import type { Pending } from './pending.ts';
import type { EventPlace } from './posting.ts';
import type { DatabaseReader } from './reader.ts';
import type { TransactionSkim } from './transaction-skim.ts';

/** Result of a lookup. `others`: events with the same hash and another id, which the new row must keep. */
interface LookUp {
  readonly taken: boolean;
  readonly others: readonly EventPlace[] | undefined;
}

const FREE: LookUp = { taken: false, others: undefined };
const TAKEN: LookUp = { taken: true, others: undefined };

/** The transaction whose events get their ids. */
export interface IdRequest {
  readonly revision: number;
  readonly bytes: Uint8Array;
  readonly events: TransactionSkim;
  readonly current: Pending;
  readonly inFlight: Pending;
}

export class IdGiver {
  readonly #reader: DatabaseReader;
  readonly #filter: KeyFilter;
  readonly #hash: KeyHash;

  constructor(reader: DatabaseReader, filter: KeyFilter, hash: KeyHash) {
    this.#reader = reader;
    this.#filter = filter;
    this.#hash = hash;
  }

  /** Gives every event of the transaction its id, in order. */
  giveAll(request: IdRequest): void {
    for (let index = 0; index < request.events.count; index++) this.#give(request, request.events.at(index), index);
  }

  /** Enters the ids that the events have been given before (`storedId`), as the rebuilding of the index does. */
  enterAll(request: IdRequest): void {
    for (let index = 0; index < request.events.count; index++) {
      const event = request.events.at(index);
      const { high, low } = hashOfId(this.#hash, idOf(request.bytes, event));
      const isPending = request.current.ids.has(high, low) || request.inFlight.ids.has(high, low);
      const isKnown = isPending || this.#filter.mayHold(high, low);
      const others = isKnown ? [...request.inFlight.ids.withHash(high, low)].map((place) => ({ ...place })) : [];
      if (isKnown) addPlaces(others, storedPlaces(this.#reader, this.#hash));
      this.#add(request, event, index, isPending || others.length > 0 ? others : undefined);
    }
  }

  #give(request: IdRequest, event: SkimmedEvent, index: number): void {
    let id = idOf(request.bytes, event);
    let found = this.#lookUp(request, id);
    while (found.taken) {
      const stem = event.storedId ?? decodeUtf8(request.bytes, event.idStart, event.idEnd) ?? '';
      const text = stem + endingOf(request.revision, index);
      const bytes = encodeUtf8(text);
      event.storedId = text;
      id = { stream: id.stream, bytes, from: 0, to: bytes.length };
      found = this.#lookUp(request, id);
    }
    this.#add(request, event, index, found.others);
  }

  /** `#lookUp` has left the hash of this very id. */
  #add(request: IdRequest, event: SkimmedEvent, index: number, others: LookUp['others']): void {
    const { high, low } = this.#hash;
    this.#filter.add(high, low);
    event.id = request.current.ids.add(high, low, request.revision, index);
    event.id.others = others;
  }

  #lookUp(request: IdRequest, id: IdBytes): LookUp {
    const { high, low } = hashOfId(this.#hash, id);
    const isPending = request.current.ids.has(high, low) || request.inFlight.ids.has(high, low);
    // An id of this flush is in the filter, so "surely not" covers both.
    if (!isPending && !this.#filter.mayHold(high, low)) return FREE;

    const others: EventPlace[] = [];
    for (const place of request.current.ids.withHash(high, low)) {
      if (this.#isPendingEvent(request, request.current, { id, place })) return TAKEN;
    }
    for (const place of request.inFlight.ids.withHash(high, low)) {
      if (this.#isPendingEvent(request, request.inFlight, { id, place })) return TAKEN;
      others.push({ ...place });
    }
    const stored = storedPlaces(this.#reader, this.#hash);
    for (const place of stored) {
      const event = this.#reader.eventIn(place);
      if (isIdOf(id, event.bytes, event.storedId)) return TAKEN;
    }
    addPlaces(others, stored);
    return { taken: false, others: isPending || others.length > 0 ? others : undefined };
  }

  #isPendingEvent(request: IdRequest, pending: Pending, { id, place }: { id: IdBytes; place: EventPlace }): boolean {
    if (place.revision === request.revision) return isSameId(id, idOf(request.bytes, request.events.at(place.index)));
    const event = pending.records.event(place);
    return isIdOf(id, event.bytes, event.storedId);
  }
}

/** The id that the event is stored under, as far as it is decided. */
function idOf(bytes: Uint8Array, event: SkimmedEvent): IdBytes {
  const stream = event.stream.term;
  if (event.storedId === undefined) return { stream, bytes, from: event.idStart, to: event.idEnd };
  const stored = encodeUtf8(event.storedId);
  return { stream, bytes: stored, from: 0, to: stored.length };
}

/** Adds the places that are not among them yet: a row in flight may be in the store already. */
function addPlaces(into: EventPlace[], places: readonly EventPlace[]): void {
  for (const { revision, index, position } of places) {
    const isKnown = into.some((other) => other.revision === revision && other.index === index);
    if (!isKnown) into.push({ revision, index, position });
  }
}

// A database with known content: the real state machine on any store, together with the plain list of events for naive
// answers.
import {
  assert,
  compareInstants,
  type DatabaseId,
  type Instant,
  instantFromMs,
  NO_BYTES,
  toDatabaseId,
  toGroupId,
  toLogIndex,
  toTerm,
} from '#base';
import {
  DatabaseMachine,
  type DatabaseSource,
  type MachineOptions,
  type StoredEvent,
  type TransactOutcome,
} from '#database';
import type { KvReader, KvStore } from '#kv';
import {
  type Constraint,
  comparePositions,
  type Direction,
  type Event,
  type EventQuery,
  encodeEvent,
  encodeTransactPayload,
  NO_OPTIONS,
  ORIGIN,
  type Position,
  readEvent,
  SPEC_VERSION,
  stampPayload,
  type TransactPayload,
} from '#model';
import { nativeSha256 } from '../../src/cluster/system-ports.ts';
import { naivelyMatches } from './selectors.ts';

/** Parts of an event that matter to a test; the others have defaults. */
export type EventSketch = Pick<Event, 'source' | 'type'> & Partial<Event>;

export interface KnownEvent {
  readonly event: Event;
  readonly stored: StoredEvent;
  /** Its time, or the recorded time. */
  readonly effective: Instant;
}

export const CREATED_AT_MS = 1_760_000_000_000;

export class KnownDatabase {
  readonly source: DatabaseSource;
  readonly events: KnownEvent[] = [];
  readonly #store: KvStore;
  readonly #machine: DatabaseMachine;

  /** `reader` is used by queries; default the store itself. */
  constructor(store: KvStore, reader: KvReader = store, options: MachineOptions = {}) {
    const group = toGroupId(7);
    this.#store = store;
    this.source = { kv: reader, group, sha256: nativeSha256 };
    this.#machine = DatabaseMachine.create(
      { ...this.source, kv: store },
      { databaseId: DATABASE_ID, createdAtMs: CREATED_AT_MS, membership: NO_BYTES },
      options,
    );
  }

  get revision(): number {
    return this.#machine.revision;
  }

  /** Commits a transaction in memory, until `flush`. */
  apply(sketches: readonly EventSketch[], recordedTimeMs: number, constraints: readonly Constraint[] = []): void {
    const revision = this.revision + 1;
    const events = sketches.map((sketch, index) => completed(sketch, revision, index));
    const bytes = events.map(encodeEvent);
    const payload = encodeTransactPayload({
      transactionId: transactionIdOf(revision),
      origin: ORIGIN.GRPC_TRANSACTION,
      options: NO_OPTIONS,
      constraints,
      events: bytes,
    });
    stampPayload(payload, recordedTimeMs);
    const outcome = this.#apply(payload);
    assert(outcome.kind === 'committed', 'A transaction of a test commits', outcome);
    this.#remember(events, bytes, outcome);
  }

  /**
   * Commits transactions 1 to `count`, a millisecond apart; flushes after every `every` transactions and at the end.
   */
  async fill(count: number, transaction: (n: number) => readonly EventSketch[], every: number = count): Promise<void> {
    for (let n = 1; n <= count; n++) {
      this.apply(transaction(n), CREATED_AT_MS + n);
      if (n % every === 0) await this.flush();
    }
    await this.flush();
  }

  /** Flushes everything and commits a transaction, or returns the reason of the refusal. */
  async transact(transaction: TransactPayload, recordedTimeMs: number): Promise<TransactOutcome> {
    await this.flush();
    const payload = encodeTransactPayload(transaction);
    stampPayload(payload, recordedTimeMs);
    const outcome = this.#apply(payload, await this.#machine.answer(this.#machine.needs(payload)));
    const events = transaction.events.map((bytes) => readEvent(bytes, 0, bytes.length));
    if (outcome.kind === 'committed') this.#remember(events, transaction.events, outcome);
    await this.flush();
    return outcome;
  }

  #apply(payload: Uint8Array, answers: readonly number[] = []): TransactOutcome {
    const index = toLogIndex(this.#machine.appliedIndex + 1);
    return this.#machine.transact({ index, term: toTerm(1), payload, answers });
  }

  #remember(
    events: readonly Event[],
    bytes: readonly Uint8Array[],
    { revision, recordedTimeMs, storedIds }: Extract<TransactOutcome, { readonly kind: 'committed' }>,
  ): void {
    for (const [index, event] of events.entries()) {
      const storedId = storedIds.find((each) => each.index === index)?.id;
      const stored = {
        position: { revision, index },
        recordedTimeMs,
        bytes: bytes[index] ?? new Uint8Array(0),
        ...(storedId === undefined ? {} : { storedId }),
      };
      this.events.push({ event, stored, effective: event.time?.instant ?? instantFromMs(recordedTimeMs) });
    }
  }

  /** Flushes everything that was applied to the store. */
  async flush(): Promise<void> {
    const batch = this.#store.batch();
    this.#machine.flushInto(batch);
    await this.#store.write(batch);
    this.#machine.flushed();
  }
}

/** The id of a revision's transaction, 16 bytes. */
export function transactionIdOf(revision: number): Uint8Array {
  const id = new Uint8Array(16);
  new DataView(id.buffer).setUint32(12, revision);
  return id;
}

/**
 * The answer to a query at a revision, computed by a loop over all events. In order of time, `after` is the position of
 * an event.
 */
export function naiveAnswer(events: readonly KnownEvent[], at: number, query: EventQuery): readonly StoredEvent[] {
  const { selector, revisions, effectiveTime, direction, limit, after } = query;
  const isInTime = effectiveTime !== undefined;
  const last = isInTime && after ? events.find(({ stored }) => isAt(stored.position, after)) : undefined;
  return events
    .filter(({ stored }) => stored.position.revision <= at)
    .filter(({ stored }) => stored.position.revision >= (revisions.start ?? 0))
    .filter(({ stored }) => stored.position.revision <= (revisions.end ?? at))
    .filter(({ effective }) => isNaivelyWithin(effective, effectiveTime?.start, effectiveTime?.end))
    .filter(({ event }) => naivelyMatches(selector, event))
    .filter((event) => last === undefined || order(event, last, direction, true) > 0)
    .filter(({ stored }) => isInTime || after === undefined || isBehind(stored.position, after, direction))
    .toSorted((a, b) => order(a, b, direction, isInTime))
    .slice(0, limit ?? events.length)
    .map(({ stored }) => stored);
}

function isAt(position: Position, other: Position): boolean {
  return comparePositions(position, other) === 0;
}

function isBehind(position: Position, after: Position, direction: Direction): boolean {
  return direction === 'forward' ? comparePositions(position, after) > 0 : comparePositions(position, after) < 0;
}

function order(left: KnownEvent, right: KnownEvent, direction: Direction, byTime: boolean): number {
  const times = byTime ? compareInstants(left.effective, right.effective) : 0;
  const ascending = times || comparePositions(left.stored.position, right.stored.position);
  return direction === 'forward' ? ascending : -ascending;
}

function isNaivelyWithin(instant: Instant, start: Instant | undefined, end: Instant | undefined): boolean {
  if (start !== undefined && compareInstants(instant, start) < 0) return false;
  return end === undefined || compareInstants(instant, end) <= 0;
}

function completed(sketch: EventSketch, revision: number, index: number): Event {
  return {
    id: `${revision}-${index}`,
    specVersion: SPEC_VERSION,
    data: new Uint8Array(0),
    dataKind: 0,
    extensions: new Map(),
    ...sketch,
  };
}

export const DATABASE_ID: DatabaseId = toDatabaseId('01968e6a-0000-7000-8000-000000000001');

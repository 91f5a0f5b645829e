/** Random writes. */
import { STATE_CHANGE_EVENT } from '../clients/state-change.ts';
import { type Database, lastOf } from '../model/store.ts';
import type { Constraint, Request, RequestOf, WrittenEvent } from '../model/vocabulary.ts';
import { COMMANDS } from '../model/writes.ts';
import type { Random } from './random.ts';
import * as values from './values.ts';

const BAD_DATABASES = ['Bad', '-a', 'a-', 'a_b', 'x'.repeat(64), 'a.b'];

export function drawCreate(random: Random, name: string): Request {
  const via = random.pick(['CreateDatabase', 'POST /api/v1/db', 'POST /databases'] as const);
  return { kind: 'create', via, database: name };
}

export function badDatabase(random: Random): string {
  return random.pick(BAD_DATABASES);
}

/** With the id of the instance or of another one, or with the name only. */
export function drawDelete(random: Random, name: string, ids: readonly string[]): Request {
  const via = random.pick(['DeleteDatabase', 'DELETE /api/v1/db', 'DELETE /databases'] as const);
  const id = random.maybe(70, () =>
    random.pick([...ids, '01a222f9-a064-774c-8c2b-bf944e26b95b', random.uuid(), 'no-uuid', '']),
  );
  return { kind: 'delete', via, database: name, ...(id === undefined ? {} : { id }) };
}

export function drawTransact(random: Random, name: string, database: Database | undefined): RequestOf<'transact'> {
  const last = database === undefined ? 0 : lastOf(database);
  const known = database?.transactions.map(({ id }) => id) ?? [];
  const via = random.pick([
    'Transact',
    'Transact CloudEvents',
    'POST /api/v1/db/{db}',
    'POST /databases/{db}/events',
  ] as const);
  return {
    kind: 'transact',
    database: name,
    via,
    id: random.maybe(60, () => transactionId(random, known)),
    events: via === 'Transact CloudEvents' ? events(random).map(inCloudEvents) : events(random),
    constraints: random.chance(50) ? [] : random.list(1, 3, () => constraint(random, last)),
  };
}

/** Publishes the State Change or executes a command, without a transaction id because tools have none. */
export function drawStateChange(random: Random, database: string): Request {
  if (random.chance(35)) return { kind: 'publish', via: 'tool publish_component', database };
  return { kind: 'transact', database, via: random.pick(COMMANDS), events: [STATE_CHANGE_EVENT], constraints: [] };
}

/** In this format a payload is text or bytes; the content type determines the meaning of the bytes. */
function inCloudEvents(event: WrittenEvent): WrittenEvent {
  return event.data?.kind === 'json' ? { ...event, datacontenttype: 'application/json' } : event;
}

/** A new id or a known one, in either case of letters. */
function transactionId(random: Random, known: readonly string[]): string {
  if (random.chance(2)) return random.pick(['no-uuid', '00000000-0000-0000-0000-000000000000']);
  const id = known.length > 0 && random.chance(12) ? random.pick(known) : random.uuid();
  return random.chance(10) ? id.toUpperCase() : id;
}

function events(random: Random): readonly WrittenEvent[] {
  const dice = random.below(1000);
  if (dice < 6) return [];
  if (dice < 8) return Array.from({ length: 1001 }, (_, place) => ({ ...values.event(random), id: `many-${place}` }));
  if (dice < 10) return [{ ...values.event(random), data: { kind: 'json', value: `"${'x'.repeat(1_000_001)}"` } }];
  const drawn = random.list(1, 4, () => values.event(random));
  return dice < 90 ? [...drawn, values.malformedEvent(random)] : drawn;
}

/** A constraint that holds about half of the time. */
function constraint(random: Random, last: number): Constraint {
  if (random.chance(1)) return { kind: 'empty' };
  const selector = random.maybe(75, () => values.selector(random));
  const kind = random.pick(['min', 'max', 'range'] as const);
  const mild = random.chance(50);
  if (kind !== 'range') {
    const likely = kind === 'min' ? (selector === undefined ? last : 1) : last;
    return { kind, revision: mild ? BigInt(likely) : values.revision(random, last), selector };
  }
  const [start, end] = mild ? [0n, BigInt(last)] : [values.revision(random, last), values.revision(random, last)];
  // One in ten reversed ranges is sent as such.
  return start > end && !random.chance(10)
    ? { kind, start: end, end: start, selector }
    : { kind, start, end, selector };
}

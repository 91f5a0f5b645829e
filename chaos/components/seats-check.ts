/**
 * Checks the answers about seats against the final events. It shares no code with a node: it folds the State View
 * again, with a loop over the events as they are read over HTTP.
 *
 *   sold events   no seat is sold twice, and no house sells more than its limit
 *   sale          an acknowledged one is stored once, at that revision, for that seat; a refused one is not stored
 *   refusal       was correct at the revision that it names
 *   transaction   each stored one was requested
 *   show          equals the fold of the events up to its revision, byte for byte; the latest one includes all sales
 *                 that were acknowledged before
 */
import { eventType, SOLD_MAX } from './seats.ts';
import type { FinalSeats, Sale, SeatsHistory, Show, SoldEvent } from './seats-history.ts';

export function checkSeats({ sales, shows }: SeatsHistory, final: FinalSeats): readonly string[] {
  const sold = new SoldSeats(final);
  return [
    ...sold.brokenRules(),
    ...unasked(sales, final),
    ...sales.flatMap((sale) => faultsOfSale(sale, sold)),
    ...shows.flatMap((show) => faultOfShow(show, sold) ?? []),
  ];
}

class SoldSeats {
  readonly #final: FinalSeats;
  readonly #byHouse = new Map<string, SoldEvent[]>();
  readonly #byId = new Map<string, number>();
  readonly #byRevision: ReadonlyMap<number, readonly SoldEvent[]>;

  constructor(final: FinalSeats) {
    this.#final = final;
    this.#byRevision = Map.groupBy(final.events, ({ revision }) => revision);
    for (const event of final.events) {
      const house = event.subject ?? '';
      this.#byHouse.set(house, [...(this.#byHouse.get(house) ?? []), event]);
    }
    for (const { revision, transactionId } of final.transactions) this.#byId.set(transactionId, revision);
  }

  brokenRules(): readonly string[] {
    const problems: string[] = [];
    for (const [house, events] of this.#byHouse) {
      if (events.length > SOLD_MAX) problems.push(`the house ${house} has sold ${events.length} of ${SOLD_MAX} seats`);
      for (const [type, same] of Map.groupBy(events, (event) => event.type)) {
        if (same.length === 1) continue;
        problems.push(`${type} of the house ${house} is sold at ${same.map(({ revision }) => revision).join(' and ')}`);
      }
    }
    if (this.#byId.size < this.#final.transactions.length) problems.push('a transaction id is recorded twice');
    return problems;
  }

  /** Revision at which a transaction with this id is stored. */
  recordedAt(batchId: string): number | undefined {
    return this.#byId.get(batchId);
  }

  /** Events of a revision. */
  at(revision: number): readonly SoldEvent[] {
    return this.#byRevision.get(revision) ?? [];
  }

  /** Events of a house up to a revision. */
  upTo(house: string, revision: number): readonly SoldEvent[] {
    return (this.#byHouse.get(house) ?? []).filter((event) => event.revision <= revision);
  }
}

/** Stored transactions that no client requested. */
function unasked(sales: readonly Sale[], { transactions }: FinalSeats): readonly string[] {
  const asked = new Set(sales.map(({ batchId }) => batchId));
  return transactions
    .filter(({ transactionId }) => !asked.has(transactionId))
    .map(({ revision, transactionId }) => `${transactionId} at revision ${revision} was asked by nobody`);
}

function faultsOfSale(sale: Sale, sold: SoldSeats): readonly string[] {
  const { batchId, house, seat, floor, outcome } = sale;
  const what = `the sale ${batchId} of ${seat} in ${house} by ${sale.client}`;
  const recordedAt = sold.recordedAt(batchId);
  const faults: string[] = [];
  if (recordedAt !== undefined) {
    const events = sold.at(recordedAt);
    const isIt = events.length === 1 && events[0]?.type === eventType(seat) && events[0].subject === house;
    if (!isIt) faults.push(`${what} is recorded at ${recordedAt} as ${JSON.stringify(events.map(({ text }) => text))}`);
    if (recordedAt <= floor) faults.push(`${what} is recorded at ${recordedAt}, and was asked behind ${floor}`);
  }
  switch (outcome.kind) {
    case 'sold':
      if (recordedAt !== outcome.revision)
        faults.push(`${what} was acknowledged at ${outcome.revision}, and is recorded at ${recordedAt ?? 'none'}`);
      break;
    case 'refused': {
      if (recordedAt !== undefined) faults.push(`${what} was refused as ${outcome.reason}, and is at ${recordedAt}`);
      const before = sold.upTo(house, outcome.revision);
      const isSo =
        outcome.reason === 'full'
          ? before.length >= SOLD_MAX
          : before.some(({ type }) => type === eventType(seat)) && before.length < SOLD_MAX;
      if (!isSo) faults.push(`${what} was refused as ${outcome.reason} at ${outcome.revision}, which is not so`);
      break;
    }
    case 'strange':
      faults.push(`${what} was answered ${outcome.text}`);
      break;
    case 'conflict':
    case 'unknown':
  }
  return faults;
}

function faultOfShow({ client, house, at, floor, outcome }: Show, sold: SoldSeats): string | undefined {
  const what = `the house ${house} at ${at}, shown to ${client}`;
  if (outcome.kind === 'unknown') return undefined;
  if (outcome.kind === 'strange') return `${what}, was answered ${outcome.text}`;
  if (typeof at === 'number' && outcome.revision !== at) return `${what}, is shown at ${outcome.revision}`;
  if (at === 'latest' && outcome.revision < floor) {
    return `${what}, is shown at ${outcome.revision}, and ${floor} was acknowledged before`;
  }
  const expected = folded(sold.upTo(house, outcome.revision));
  return outcome.bytes === expected
    ? undefined
    : `${what}, is ${outcome.bytes} at ${outcome.revision}, not ${expected}`;
}

const HASH_PRIME = 16_777_619;
const STATE_BYTES = 8;

/** Count and hash over all bytes of the events' texts, little-endian, in hexadecimal; empty without events. */
export function folded(events: readonly Pick<SoldEvent, 'text'>[]): string {
  if (events.length === 0) return '';
  let hash = 0;
  for (const { text } of events) {
    for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, HASH_PRIME);
    hash = (hash + 1) | 0;
  }
  const state = Buffer.alloc(STATE_BYTES);
  state.writeUInt32LE(events.length);
  state.writeInt32LE(hash, 4);
  return state.toString('hex');
}

/**
 * Checks that each record of a history continues those before it. The hashes cover the bodies of transactions and the
 * payloads of control records. The other fields are checked as far as they follow from the records before.
 */
import { compareBytes, copyRange, decodeUtf8, type Sha256 } from '#base';
import { RECORD } from '#kv';
import { decodeDefinitionEntry, eventFacts } from '#model';
import type { ControlMark } from './applied.ts';
import { endingOf } from './event-identity.ts';
import { type ControlRecord, controlHash, isControl, type StoredRecord, type StoredTransaction } from './record.ts';
import { readRefusal } from './refusal-record.ts';

/** Where a history ends: with an equal one, two replicas have equal transactions and control records up to there. */
export interface HistoryPoint {
  readonly revision: number;
  readonly chainHash: Uint8Array;
  /** The last control record. */
  readonly control: ControlMark | undefined;
}

/** With what the records after it are checked against besides. */
export interface ChainStart extends HistoryPoint {
  readonly index: number;
  readonly term: number;
  /** Events in the revisions 1 to `revision`. */
  readonly totalEvents: number;
}

export class HistoryChain implements ChainStart {
  /** Place in the log of the last record that was taken. */
  index: number;
  term: number;
  revision: number;
  chainHash: Uint8Array;
  totalEvents: number;
  control: ControlMark | undefined;
  readonly #sha256: Sha256;
  readonly #isWhole: boolean;

  /** `isWhole`: the control records before the start are known; otherwise the first one is believed. */
  constructor(sha256: Sha256, start: ChainStart, isWhole: boolean = true) {
    this.#sha256 = sha256;
    this.#isWhole = isWhole;
    this.index = start.index;
    this.term = start.term;
    this.revision = start.revision;
    this.chainHash = start.chainHash;
    this.totalEvents = start.totalEvents;
    this.control = start.control;
  }

  /** Why the record does not continue where the last one ended; undefined when it does. */
  take(record: StoredRecord): string | undefined {
    const { index, term } = record.place;
    if (index <= this.index) return `entry ${index} of the log follows ${this.index}`;
    if (term < this.term) return `an entry of term ${term} follows one of term ${this.term}`;
    const fault = isControl(record) ? this.#takeControl(record) : this.#takeTransaction(record);
    if (fault !== undefined) return fault;
    this.index = index;
    this.term = term;
    return undefined;
  }

  #takeTransaction(transaction: StoredTransaction): string | undefined {
    const { revision, bytes, view, chainHash, eventCount } = transaction;
    if (revision !== this.revision + 1) return `revision ${revision} follows ${this.revision}`;
    const expected = this.#sha256([this.chainHash, bytes.subarray(view.body.start, view.body.end)]);
    if (compareBytes(expected, chainHash) !== 0) return 'its chain hash does not follow from its body';
    // The hash does not cover these.
    const totalEvents = this.totalEvents + eventCount;
    if (transaction.totalEvents !== totalEvents)
      return `it counts ${transaction.totalEvents} events, and ${totalEvents} would be right`;
    const fault = faultInStoredIds(transaction);
    if (fault !== undefined) return fault;
    this.revision = revision;
    this.totalEvents = totalEvents;
    this.chainHash = expected;
    return undefined;
  }

  #takeControl(record: ControlRecord): string | undefined {
    if (record.revision !== this.revision)
      return `its revision is ${record.revision}, and ${this.revision} would be right`;
    const isKnown = this.#isWhole || this.control !== undefined;
    const expected = isKnown ? controlHash(this.#sha256, this, record) : record.hash;
    if (compareBytes(expected, record.hash) !== 0) return 'its hash does not follow from the records before it';
    const content = record.kind === RECORD.DEFINITION ? decodeDefinitionEntry(record.payload) : readRefusal(record);
    if (content === undefined) return 'its payload is none of its kind';
    this.control = { position: record.position, hash: copyRange(expected) };
    return undefined;
  }
}

/** Only a look-up in the indexes tells whether an id was taken, but not what it became then. */
function faultInStoredIds({ revision, bytes, view, storedIds, eventCount }: StoredTransaction): string | undefined {
  let last = -1;
  for (const { index, id } of storedIds) {
    if (index <= last) return `an id of event ${index} follows that of event ${last}`;
    if (index >= eventCount) return `it has an id of event ${index} and ${eventCount} events`;
    const { idStart, idEnd } = eventFacts(bytes, view.body.eventStarts[index] ?? 0, view.body.eventEnds[index] ?? 0);
    const own = decodeUtf8(bytes, idStart, idEnd);
    const ending = endingOf(revision, index);
    let stem = id;
    while (stem !== own && stem.endsWith(ending)) stem = stem.slice(0, -ending.length);
    if (stem !== own || id === own) return `event ${index} has the id "${own}", and is stored as "${id}"`;
    last = index;
  }
  return undefined;
}

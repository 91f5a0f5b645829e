/** Follows the hashes of a history from record to record: whether each continues those before it. */
import { compareBytes, type Sha256 } from '#base';
import { decodeDefinitionEntry } from '#model';
import type { ControlMark } from './applied.ts';
import { copyRange } from './bytes-range.ts';
import {
  type ControlRecord,
  controlHash,
  isControl,
  RECORD,
  type StoredRecord,
  type StoredTransaction,
} from './record.ts';
import { readRefusal } from './refusal-record.ts';

/** Where a history ends: with an equal one, two replicas have equal histories up to there. */
export interface HistoryPoint {
  readonly revision: number;
  readonly chainHash: Uint8Array;
  /** The last control record. */
  readonly control: ControlMark | undefined;
}

export class HistoryChain implements HistoryPoint {
  /** Place in the log of the last record that was taken. */
  index: number;
  revision: number;
  chainHash: Uint8Array;
  control: ControlMark | undefined;
  readonly #sha256: Sha256;
  readonly #isWhole: boolean;

  /** `isWhole`: the control records before the start are known; otherwise the first one is believed. */
  constructor(sha256: Sha256, start: HistoryPoint & { readonly index: number }, isWhole: boolean = true) {
    this.#sha256 = sha256;
    this.#isWhole = isWhole;
    this.index = start.index;
    this.revision = start.revision;
    this.chainHash = start.chainHash;
    this.control = start.control;
  }

  /** Why the record does not continue where the last one ended; undefined when it does. */
  take(record: StoredRecord): string | undefined {
    const { index } = record.place;
    if (index <= this.index) return `entry ${index} of the log follows ${this.index}`;
    const fault = isControl(record) ? this.#takeControl(record) : this.#takeTransaction(record);
    if (fault === undefined) this.index = index;
    return fault;
  }

  #takeTransaction({ revision, bytes, view, chainHash, storedIds, eventCount }: StoredTransaction): string | undefined {
    if (revision !== this.revision + 1) return `revision ${revision} follows ${this.revision}`;
    const expected = this.#sha256([this.chainHash, bytes.subarray(view.body.start, view.body.end)]);
    if (compareBytes(expected, chainHash) !== 0) return 'its chain hash does not follow from its body';
    // The hash does not cover them.
    const stray = storedIds.find((stored) => stored.index >= eventCount);
    if (stray !== undefined) return `it has an id of event ${stray.index} and ${eventCount} events`;
    this.revision = revision;
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

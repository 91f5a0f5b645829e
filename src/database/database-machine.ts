/**
 * The replicated state machine of one database: log entries in, outcomes and rows out. The same entries give the same
 * outcomes, revisions and chain hashes on every replica, whenever each of them flushes or restarts (D8).
 *
 * For each entry, in log order:
 * ```
 * needs = machine.needs(payload)                      nearly always none
 * if any: flush, await the write, flushed(), answers = await machine.answer(needs)      bounded (D13)
 * outcome = machine.apply({index, term, payload, answers})
 * ```
 * and at any time of the owner's choice: `flushInto(batch)`, write the batch, `flushed()`. An outcome follows from the
 * entries up to its own and nothing else (D8), so the owner may send it once those entries are durable. The revision of
 * a replay may be one whose rows are not in the store yet. `#judge` decides the constraints.
 *
 * Synchronous except for `answer` and `warm`; no clock, no randomness, no I/O but reads of the store (D8).
 */
import { assert, type ConstraintViolation, type LogIndex, type Revision, type Term, toRevision } from '#base';
import { type KvBatch, RECORD } from '#kv';
import {
  type Conjunction,
  type Constraint,
  constraintsOf,
  decide,
  definesSomething,
  normalise,
  readTransactPayload,
  type StoredEventId,
  type TransactPayloadView,
} from '#model';
import type { Applied } from './applied.ts';
import type { GroupMark } from './applied-state.ts';
import { encodePoint } from './compare-history.ts';
import { DatabaseWriter } from './database-writer.ts';
import { DefinitionLedger, type DefinitionOutcome, isChange } from './definition-ledger.ts';
import { type NewDatabase, newDatabase } from './facts.ts';
import type { HeadFields } from './head.ts';
import type { CheckedRecords } from './history-transfer.ts';
import { KeyFilter } from './key-filter.ts';
import { KeyHash } from './key-hash.ts';
import type { HeadKind } from './keys.ts';
import { type HeadLookup, hasPrefix, latestOf } from './latest.ts';
import { latestByPrefix, PREFIX_LIMITS, type PrefixLimits } from './latest-by-prefix.ts';
import { LiveHead } from './live-head.ts';
import { TRANSACTION_ID_BYTES } from './pending-transactions.ts';
import { loadLedger } from './read-definitions.ts';
import { DatabaseReader, type DatabaseSource } from './reader.ts';
import { isControl, type LogPlace } from './record.ts';
import { encodeRefusal, type RefusalCause } from './refusal-record.ts';
import type { TipRow } from './small-rows.ts';
import { warmFilter } from './warm-filter.ts';

export type TransactOutcome =
  | {
      readonly kind: 'committed';
      readonly revision: Revision;
      /** The revision that the transaction was committed on top of. */
      readonly basis: Revision;
      readonly recordedTimeMs: number;
      readonly eventCount: number;
      /** Only the ids that differ from what the client wrote. */
      readonly storedIds: readonly StoredEventId[];
    }
  /** The transaction id was recorded before: its result is at this revision; this body is ignored. */
  | { readonly kind: 'replayed'; readonly revision: Revision }
  /** Nothing was committed; `revision` is the database's. */
  | {
      readonly kind: 'violated';
      readonly revision: Revision;
      readonly violations: readonly ConstraintViolation[];
    }
  /** Nothing was committed: L of these constraints was not found within the limits of a transaction (D13). */
  | {
      readonly kind: 'too-broad';
      readonly revision: Revision;
      /** Their indices in the request, ascending. */
      readonly constraints: readonly number[];
    };

/** An L that takes a walk over rows to find. Made and answered by the machine. */
export interface RangeNeed {
  readonly conjunction: Conjunction;
}

export interface EntryToApply {
  readonly index: LogIndex;
  readonly term: Term;
  /** Empty for an entry that changes no state. */
  readonly payload: Uint8Array;
  /** Results of `answer` for the `needs` of this payload, two numbers each; absent when there were none. */
  readonly answers?: readonly number[];
  /** Membership of the group from this entry on. Only in an entry without payload. */
  readonly membership?: Uint8Array | undefined;
}

/** Outcome of an entry about definitions. */
export interface Defined {
  readonly kind: 'definition';
  readonly outcome: DefinitionOutcome;
}

export interface MachineOptions {
  /** Memory of the filter that saves look-ups of new ids and subjects. */
  readonly filterBytesMax?: number;
  /** Bits of the event-id hash; below 64 only in tests of collisions. */
  readonly hashBits?: number;
  /** Heads that are kept in memory after a flush; fewer only in tests. */
  readonly headsKept?: number;
  /** Limits of the search for prefixes; lower only in tests. Replicas with other limits would decide differently. */
  readonly prefixLimits?: PrefixLimits;
  /** Bytes of a segment; fewer only in tests. Replicas with another size would have other segments. */
  readonly segmentBytes?: number;
}

/** Room for about 25 million ids, subjects and transaction ids. */
const FILTER_BYTES_MAX = 64 * 1024 * 1024;

export class DatabaseMachine {
  readonly #reader: DatabaseReader;
  readonly #writer: DatabaseWriter;
  readonly #filter: KeyFilter;
  readonly #lookup: HeadLookup;
  readonly #prefixLimits: PrefixLimits;
  /** Absent until something is defined: most databases have no definitions. */
  #definitions: DefinitionLedger | undefined;
  #lastDecoded: DecodedEntry | undefined;

  /** Opens the state in the store; undefined when the group has none. */
  static open(source: DatabaseSource, options: MachineOptions = {}): DatabaseMachine | undefined {
    const reader = new DatabaseReader(source);
    const applied = reader.applied();
    return applied === undefined ? undefined : new DatabaseMachine(reader, applied, options);
  }

  /** Creates a database at revision 0. Its first flush writes it. */
  static create(source: DatabaseSource, database: NewDatabase, options: MachineOptions = {}): DatabaseMachine {
    const applied = newDatabase(source.sha256, database);
    return new DatabaseMachine(new DatabaseReader(source), applied, options);
  }

  private constructor(reader: DatabaseReader, applied: Applied, options: MachineOptions) {
    this.#reader = reader;
    this.#filter = new KeyFilter(options.filterBytesMax ?? FILTER_BYTES_MAX);
    if (applied.revision === 0) this.#filter.complete();
    const hash = new KeyHash((options.hashBits ?? 64) / 2);
    const { headsKept, segmentBytes } = options;
    this.#writer = new DatabaseWriter({ reader, applied, filter: this.#filter, hash, headsKept, segmentBytes });
    if (applied.definitions > 0) this.#definitions = loadLedger(reader, applied.definitions);
    this.#lookup = lookupOf(this.#writer);
    this.#prefixLimits = options.prefixLimits ?? PREFIX_LIMITS;
  }

  /** The applied state, flushed or not. */
  get applied(): Applied {
    return this.#writer.applied;
  }

  get revision(): Revision {
    return this.#writer.revision;
  }

  /** Recorded time of the latest transaction; the next one is not before it. */
  get recordedTimeMs(): number {
    return this.#writer.recordedTimeMs;
  }

  get appliedIndex(): LogIndex {
    return this.#writer.index;
  }

  /** Bytes of transactions that wait for the next flush: a reason to flush. */
  get unflushedBytes(): number {
    return this.#writer.unflushedBytes;
  }

  /** Where its history ends, for another replica. */
  get standing(): Uint8Array {
    return encodePoint(this.applied);
  }

  /** The searches in the store that must be answered before the payload is applied. */
  needs(payload: Uint8Array): readonly RangeNeed[] {
    return payload.length === 0 || definesSomething(payload) ? NO_NEEDS : this.#decoded(payload).needs;
  }

  /**
   * Two numbers for each need: its L lies between them, and mostly they are equal. Everything applied must be in the
   * store, and nothing may be applied meanwhile.
   */
  async answer(needs: readonly RangeNeed[]): Promise<readonly number[]> {
    const alternatives = needs.map(({ conjunction }) => conjunction);
    const question = { alternatives, revision: this.revision, limits: this.#prefixLimits };
    const found = await latestByPrefix(this.#reader, question);
    return found.flatMap(({ least, most }) => [least, most]);
  }

  /** Records an entry that changes no state: the no-op of a leader, or the membership of the group from it on. */
  advance(index: LogIndex, term: Term, membership?: Uint8Array): undefined {
    assert(index > this.appliedIndex, 'Entries are applied in log order', [this.appliedIndex, index]);
    this.#writer.advance(index, term);
    if (membership !== undefined) this.#writer.adopt(membership);
  }

  /** Applies any entry. Undefined for one without a payload. */
  apply(entry: EntryToApply): TransactOutcome | Defined | undefined {
    const { index, term, payload, membership } = entry;
    if (payload.length === 0) return this.advance(index, term, membership);
    return definesSomething(payload) ? { kind: 'definition', outcome: this.define(entry) } : this.transact(entry);
  }

  /** Decides a transaction. Throws for an entry that this release does not know: it stops the node. */
  transact(entry: EntryToApply): TransactOutcome {
    const decoded = this.#decoded(entry.payload);
    this.advance(entry.index, entry.term);
    const { body } = decoded.view;
    const recorded = this.#writer.recordedRevision(body);
    if (recorded !== undefined) return { kind: 'replayed', revision: toRevision(recorded) };
    const basis = this.revision;
    const { tooBroad, violations } = this.#judge(decoded, entry.answers ?? NO_ANSWERS);
    if (tooBroad.length > 0) return this.#refuse(decoded, { kind: 'too-broad', constraints: tooBroad });
    if (violations.length > 0) return this.#refuse(decoded, { kind: 'violated', violations });

    const { revision, recordedTimeMs, eventCount, storedIds } = this.#writer.append(body);
    return { kind: 'committed', revision: toRevision(revision), basis, recordedTimeMs, eventCount, storedIds };
  }

  /** Decides an entry of a definition (D22), which creates no revision. Throws for an unknown kind. */
  define({ index, term, payload }: EntryToApply): DefinitionOutcome {
    this.advance(index, term);
    this.#definitions ??= new DefinitionLedger();
    const outcome = this.#definitions.apply(payload, this.revision);
    if (isChange(outcome)) this.#writer.appendControl(RECORD.DEFINITION, payload);
    return outcome;
  }

  /**
   * Installs records of another replica that continue at the end of this one or earlier; its place in the log is then
   * their end (D16). Their constraints are not checked: they are committed.
   */
  install({ records, data }: CheckedRecords, last: LogPlace, group: GroupMark): void {
    const { appliedIndex } = this;
    assert(last.index > appliedIndex, 'A snapshot goes further than the state', [last, appliedIndex]);
    const base = (records.at(-1)?.end ?? 0) - data.length;
    let at = 0;
    for (const record of records) {
      const bytes = data.subarray(at, record.end - base);
      at += bytes.length;
      // The entry is already applied.
      if (record.place.index <= appliedIndex) continue;
      this.#writer.replay(record, bytes);
      if (isControl(record) && record.kind === RECORD.DEFINITION) {
        this.#definitions ??= new DefinitionLedger();
        this.#definitions.apply(record.payload, record.revision);
      }
    }
    this.#writer.beginLog(last, group);
  }

  /** Puts everything that is not in the store into the batch. The next flush starts after `flushed()`. */
  flushInto(batch: KvBatch): void {
    this.#writer.flushInto(batch);
  }

  /** The batch has been written. */
  flushed(): void {
    this.#writer.flushed();
  }

  /**
   * Adds the keys of all rows to the filter, in slices; until then every new id and subject costs a lookup. Changes no
   * state and may run concurrently with everything else, once, at any time.
   */
  async warm(): Promise<void> {
    if (!this.#filter.isComplete) await warmFilter(this.#reader, this.#filter);
  }

  /** Commits nothing. Keeps the refusal if the client may look it up (D25). */
  #refuse(
    { view, constraints }: DecodedEntry,
    cause: RefusalCause,
  ): Extract<TransactOutcome, { readonly kind: RefusalCause['kind'] }> {
    const { revision } = this;
    if (view.keepsRefusal) {
      const { bytes, transactionIdStart: from, recordedTimeMs } = view.body;
      const transactionId = bytes.subarray(from, from + TRANSACTION_ID_BYTES);
      const all = constraints.map(({ constraint }) => constraint);
      const refusal = encodeRefusal({ transactionId, recordedTimeMs, cause, constraints: all });
      this.#writer.appendControl(RECORD.REFUSAL, refusal);
    }
    return { ...cause, revision };
  }

  /** Decodes a payload once for `needs` and `apply`. */
  #decoded(payload: Uint8Array): DecodedEntry {
    if (this.#lastDecoded?.payload !== payload) this.#lastDecoded = decode(payload);
    return this.#lastDecoded;
  }

  /** The constraints that do not hold, and those that could not be decided. */
  #judge({ constraints, needs }: DecodedEntry, answers: readonly number[]): Judgement {
    assert(
      answers.length === 2 * needs.length,
      'Every need of a payload is answered, and nothing else',
      answers.length,
    );
    if (constraints.length === 0) return ALL_HOLD;
    const violations: ConstraintViolation[] = [];
    const tooBroad: number[] = [];
    let answered = 0;
    for (const [index, { constraint, conjunctions }] of constraints.entries()) {
      // Without a selector there are no alternatives, and L is the database's revision.
      let least = constraint.selector === undefined ? this.revision : 0;
      let most = least;
      for (const wanted of conjunctions) {
        const isAnswered = hasPrefix(wanted);
        const found = isAnswered ? (answers[answered] ?? 0) : latestOf(wanted, this.#lookup, this.revision);
        least = Math.max(least, found);
        most = Math.max(most, isAnswered ? (answers[answered + 1] ?? 0) : found);
        if (isAnswered) answered += 2;
      }
      const violation = decide(constraint, least);
      // A constraint allows a range of revisions, so one that holds at both ends holds between them.
      if (least < most && (violation !== undefined || decide(constraint, most) !== undefined)) tooBroad.push(index);
      else if (violation !== undefined) violations.push({ index, ...violation });
    }
    return { tooBroad, violations };
  }
}

interface Judgement {
  readonly tooBroad: readonly number[];
  readonly violations: readonly ConstraintViolation[];
}

interface DecodedConstraint {
  readonly constraint: Constraint;
  /** The alternatives of its selector; none without a selector. */
  readonly conjunctions: readonly Conjunction[];
}

interface DecodedEntry {
  readonly payload: Uint8Array;
  readonly view: TransactPayloadView;
  readonly constraints: readonly DecodedConstraint[];
  readonly needs: readonly RangeNeed[];
}

const NO_NEEDS: readonly RangeNeed[] = [];
const NO_ANSWERS: readonly number[] = [];
const ALL_HOLD: Judgement = { tooBroad: [], violations: [] };

function decode(payload: Uint8Array): DecodedEntry {
  const view = readTransactPayload(payload);
  if (view.constraintsStart === view.constraintsEnd) return { payload, view, constraints: [], needs: [] };
  const constraints = constraintsOf(view).map((constraint) => {
    const { selector } = constraint;
    return { constraint, conjunctions: selector === undefined ? [] : normalise(selector) };
  });
  const wanted = constraints.flatMap(({ conjunctions }) => conjunctions);
  return { payload, view, constraints, needs: wanted.filter(hasPrefix).map((conjunction) => ({ conjunction })) };
}

/** The heads in the writer's memory, which knows what is not flushed. */
function lookupOf({ heads }: DatabaseWriter): HeadLookup {
  return {
    head: (kind: HeadKind, term: Uint8Array | undefined): HeadFields | undefined =>
      term === undefined ? heads.noSubject() : heads.find(kind, term, 0, term.length),
    tip: (head: HeadFields, mask: number, ids: readonly number[]): TipRow | undefined => {
      assert(head instanceof LiveHead, 'The writer looks up its own heads');
      return heads.tip(head, mask, ids);
    },
  };
}

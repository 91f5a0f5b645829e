/**
 * State of every group in the log: enough to check each record against the ones before it, to begin a segment
 * with a summary, and to tell which segments are still needed.
 *
 * The writer and the recovery keep the same ledger by the same rules: a record that the writer would not have written
 * is not believed when it is read. It holds no entries, only where they begin.
 *
 *   W11  In the records of one group: entries are contiguous; no entry has a term beyond the hard state before it; a
 *        term never falls and has one vote; a checkpoint never falls and never passes the last entry, unless it is a
 *        start of the log, which drops all entries and is of no later term than the hard state; each record is chained
 *        to the one before it. What follows a tombstone is of another copy of the group: it begins with a hard state,
 *        from nothing, or ends before it has begun.
 *   W12  A segment is needed while it holds an entry after its group's checkpoint, and is given up only together with
 *        every older one.
 */
import { type GroupId, type LogIndex, toLogIndex, toTerm, unreachable } from '#base';
import { type Checkpoint, NO_CHECKPOINT } from './checkpoint.ts';
import type { GroupSummary, HardState, LogRecord } from './log-records.ts';

/** Entries of a group from `firstIndex` on, up to the next claim's, stand in `segment`. */
interface Claim {
  readonly segment: number;
  readonly firstIndex: number;
}

interface GroupState {
  hardState: HardState;
  checkpoint: Checkpoint;
  lastIndex: number;
  /** The crc of the group's last record. */
  chain: number;
  /** In ascending order of both fields. */
  readonly claims: Claim[];
}

const NO_HARD_STATE: HardState = { term: toTerm(0), vote: 0 };

/** Where a record stands and how it is chained. */
export interface RecordPlace {
  readonly segment: number;
  readonly crc: number;
}

export class GroupLedger {
  readonly #groups = new Map<GroupId, GroupState>();
  readonly #tombstones = new Set<GroupId>();
  /** Number of groups with claims on each segment. Segments without claims are not in it. */
  readonly #claimCounts = new Map<number, number>();

  get tombstones(): ReadonlySet<GroupId> {
    return this.#tombstones;
  }

  /** Every group that has records and did not end. */
  groupIds(): IterableIterator<GroupId> {
    return this.#groups.keys();
  }

  /** The value that the next record of the group carries in its chain field. */
  chain(group: GroupId): number {
    return this.#groups.get(group)?.chain ?? 0;
  }

  summary(group: GroupId): GroupSummary {
    const state = this.#groups.get(group) ?? newState();
    return {
      group,
      hardState: state.hardState,
      checkpoint: state.checkpoint,
      lastIndex: toLogIndex(state.lastIndex),
    };
  }

  /** Returns true when any group needs an entry in the segment (W12). */
  isClaimed(segment: number): boolean {
    return this.#claimCounts.has(segment);
  }

  /** Like `admit`, for entries, which are nearly all records. It takes single fields, so that no object is needed. */
  admitEntry(group: GroupId, term: number, index: number, place: RecordPlace): string | undefined {
    const state = this.#state(group);
    if (state === undefined) return ended(group);
    if (index !== state.lastIndex + 1)
      return `entry ${index} of group ${group}, whose last entry is ${state.lastIndex}`;
    if (term > state.hardState.term) {
      return `entry ${index} of group ${group} with term ${term}, before its hard state with term ${state.hardState.term}`;
    }
    state.lastIndex = index;
    state.chain = place.crc;
    if (state.claims.at(-1)?.segment !== place.segment)
      this.#claim(state, { segment: place.segment, firstIndex: index });
    return undefined;
  }

  /** Takes the record into account; or says, as text, which rule it breaks (W11). Not for the records of a summary. */
  admit(record: LogRecord, place: RecordPlace): string | undefined {
    if (record.kind === 'group-summary' || record.kind === 'tombstones') return `a ${record.kind} outside of a summary`;
    if (record.kind === 'entry') return this.admitEntry(record.group, record.term, record.index, place);
    const mayBegin = record.kind === 'hard-state' || record.kind === 'group-tombstone';
    const state = this.#state(record.group, mayBegin);
    if (state === undefined) return ended(record.group);
    state.chain = place.crc;
    switch (record.kind) {
      case 'hard-state':
        return admitHardState(state, record.group, record.hardState);
      case 'truncate-from':
        return this.#truncate(state, record.group, record.index);
      case 'checkpoint':
        return this.#checkpoint(state, record.group, record.checkpoint);
      case 'log-start':
        return this.#begin(state, record.group, record.checkpoint);
      case 'group-tombstone':
        return this.#end(state, record.group);
      default:
        return unreachable(record);
    }
  }

  /** Starts from what the first kept segment says about a group. */
  restore(summary: GroupSummary, chain: number): void {
    this.#groups.set(summary.group, {
      hardState: summary.hardState,
      checkpoint: summary.checkpoint,
      lastIndex: summary.lastIndex,
      chain,
      claims: [],
    });
  }

  restoreTombstones(groups: readonly GroupId[]): void {
    for (const group of groups) this.#tombstones.add(group);
  }

  /** Undefined for a group that has ended, unless another copy of it may begin. */
  #state(group: GroupId, mayBegin = false): GroupState | undefined {
    const known = this.#groups.get(group);
    if (known !== undefined) return known;
    if (this.#tombstones.has(group) && !mayBegin) return undefined;
    this.#tombstones.delete(group);
    const state = newState();
    this.#groups.set(group, state);
    return state;
  }

  #truncate(state: GroupState, group: GroupId, index: LogIndex): string | undefined {
    if (index <= state.checkpoint.index || index > state.lastIndex) {
      return `a truncation of group ${group} from ${index}, whose entries are ${entriesOf(state)}`;
    }
    state.lastIndex = index - 1;
    let kept = state.claims.length;
    while (kept > 0 && (state.claims[kept - 1]?.firstIndex ?? 0) >= index) kept--;
    for (const claim of state.claims.splice(kept)) this.#uncount(claim.segment);
    this.#releasePassed(state);
    return undefined;
  }

  #checkpoint(state: GroupState, group: GroupId, checkpoint: Checkpoint): string | undefined {
    if (falls(state, checkpoint) || checkpoint.index > state.lastIndex) {
      return `a checkpoint of group ${group} at ${checkpoint.index}, whose entries are ${entriesOf(state)}`;
    }
    state.checkpoint = checkpoint;
    this.#releasePassed(state);
    return undefined;
  }

  #begin(state: GroupState, group: GroupId, checkpoint: Checkpoint): string | undefined {
    if (falls(state, checkpoint) || checkpoint.term > state.hardState.term) {
      const { term } = state.hardState;
      return `a start of group ${group} behind ${checkpoint.index} of term ${checkpoint.term}, in term ${term}, whose checkpoint is at ${state.checkpoint.index}`;
    }
    this.#release(state, state.claims.length);
    state.checkpoint = checkpoint;
    state.lastIndex = checkpoint.index;
    return undefined;
  }

  #end(state: GroupState, group: GroupId): undefined {
    this.#release(state, state.claims.length);
    this.#groups.delete(group);
    this.#tombstones.add(group);
  }

  #claim(state: GroupState, claim: Claim): void {
    state.claims.push(claim);
    this.#claimCounts.set(claim.segment, (this.#claimCounts.get(claim.segment) ?? 0) + 1);
  }

  /** Drops the claims that hold no entry after the checkpoint any more. */
  #releasePassed(state: GroupState): void {
    let passed = 0;
    while (passed < state.claims.length && endOfClaim(state, passed) <= state.checkpoint.index + 1) passed++;
    this.#release(state, passed);
  }

  /** Drops the first `count` claims of the group. */
  #release(state: GroupState, count: number): void {
    for (const claim of state.claims.splice(0, count)) this.#uncount(claim.segment);
  }

  #uncount(segment: number): void {
    const count = (this.#claimCounts.get(segment) ?? 0) - 1;
    if (count > 0) this.#claimCounts.set(segment, count);
    else this.#claimCounts.delete(segment);
  }
}

/** Returns true when the checkpoint is before the group's last one. */
function falls({ checkpoint: before }: GroupState, { index, term, revision, history }: Checkpoint): boolean {
  const isShorter = revision < before.revision || history.end < before.history.end;
  return index < before.index || term < before.term || isShorter;
}

function newState(): GroupState {
  return { hardState: NO_HARD_STATE, checkpoint: NO_CHECKPOINT, lastIndex: 0, chain: 0, claims: [] };
}

function admitHardState(state: GroupState, group: GroupId, next: HardState): string | undefined {
  const before = state.hardState;
  const changesVote = next.term === before.term && before.vote !== 0 && next.vote !== before.vote;
  if (next.term < before.term || changesVote) {
    return `a vote of group ${group} for ${next.vote} in term ${next.term} after one for ${before.vote} in term ${before.term}`;
  }
  state.hardState = next;
  return undefined;
}

/** The index after the last entry of the claim at `place`. */
function endOfClaim(state: GroupState, place: number): number {
  return state.claims[place + 1]?.firstIndex ?? state.lastIndex + 1;
}

function entriesOf(state: GroupState): string {
  return `[${state.checkpoint.index + 1}, ${state.lastIndex + 1}) after its checkpoint`;
}

function ended(group: GroupId): string {
  return `a record of group ${group}, which has ended`;
}

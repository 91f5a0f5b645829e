/**
 * The unanswered proposals of one group.
 *
 * ```
 *   waiting (no leader yet) --> offered (inside one step) --> an entry of this leader --> settled
 *                     |                                            |  the leadership is lost
 *                     |                                            v
 *                     +--> forwarded (forwards.ts) --> accepted: an entry in doubt --> settled, superseded or given up
 * ```
 * Entries are applied in the order of the log, so proposals that are entries are a queue. The outcome of each is known
 * when its index is applied here: the entry has the term of its proposal, or another one is committed in its place for
 * good. A snapshot may skip the index; then the outcome stays unknown here. An entry of the current leadership is
 * neither superseded nor skipped.
 *
 * After a timeout, the outcome of an entry in doubt is reported as unknown (C2). A request forwarded by another node is
 * no entry here: its own node awaits it. A request keeps its payload until it is settled, because it may have to be
 * proposed again (forwards.ts).
 */
import { assert, Fifo, type LogIndex, type Term, toLogIndex } from '#base';
import type { Entry, Proposed } from '#raft';
import { isForeign, type Proposal, type Token } from '../link.ts';
import type { HeldBytes } from './node-memory.ts';

/** A proposal that has become an entry. */
export interface Entered {
  readonly proposal: Proposal;
  readonly index: LogIndex;
  readonly term: Term;
}

interface Awaited extends Entered {
  /** Time since which its outcome is in doubt, because this node does not lead in its term; undefined: it does. */
  readonly inDoubtSinceMs: number | undefined;
}

export interface Waiting {
  readonly proposal: Proposal;
  readonly sinceMs: number;
}

/** Requests that were entries and have no outcome. */
export interface Lost {
  /** Other entries are committed in their places. */
  readonly superseded: readonly Waiting[];
  /** Their indexes were skipped here. */
  readonly unknown: readonly Waiting[];
}

const NONE: Lost = { superseded: [], unknown: [] };

export class GroupProposals {
  readonly #waiting = new Fifo<Waiting>();
  #waitingBytes = 0;
  #offered: readonly Proposal[] = [];
  /** Entries that are not applied here, by index. */
  readonly #awaited = new Fifo<Awaited>();
  #inDoubtCount = 0;
  #lost = NONE;
  readonly #waits: () => void;
  /** Bytes of requests that wait or are in doubt, in all groups. The log counts those of other entries. */
  readonly #held: HeldBytes;

  /** `waits` is called when a request starts to wait for other nodes, or for a leader. */
  constructor(waits: () => void = () => undefined, held: HeldBytes = { bytes: 0 }) {
    this.#waits = waits;
    this.#held = held;
  }

  get count(): number {
    return this.#waiting.length + this.#awaited.length + this.#lost.unknown.length;
  }

  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  wait(proposal: Proposal, sinceMs: number): void {
    this.#waiting.push({ proposal, sinceMs });
    this.#hold(proposal.payload.length);
    this.#waits();
  }

  takeWaiting(): readonly Waiting[] {
    this.#hold(-this.#waitingBytes);
    return this.#waiting.drain();
  }

  /** Removes and returns the proposals that have waited since then or longer. */
  takeLate(sinceMs: number): readonly Token[] {
    const late: Token[] = [];
    for (
      let first = this.#waiting.peek();
      first !== undefined && first.sinceMs <= sinceMs;
      first = this.#waiting.peek()
    ) {
      this.#waiting.shift();
      this.#hold(-first.proposal.payload.length);
      late.push(first.proposal.token);
    }
    return late;
  }

  /** Records the proposals of the next `propose` input, in its order. */
  offer(proposals: readonly Proposal[]): void {
    this.#offered = proposals;
  }

  /** Handles the answer to that input; returns the proposals that became entries, and those that did not. */
  admit(answer: Proposed): { readonly entered: readonly Entered[]; readonly refused: readonly Proposal[] } {
    const offered = this.#offered;
    this.#offered = [];
    const entered = offered.slice(0, answer.accepted).map((proposal, at) => {
      return { proposal, index: toLogIndex(answer.first + at), term: answer.term, inDoubtSinceMs: undefined };
    });
    this.#await(entered.filter(({ proposal }) => !isForeign(proposal.token)));
    return { entered, refused: offered.slice(answer.accepted) };
  }

  /** Another node's log has it as this entry, which is not applied here yet. */
  expect(entry: Entered, nowMs: number): void {
    this.#await([{ ...entry, inDoubtSinceMs: nowMs }]);
    this.#waits();
  }

  /** The leadership is lost: its entries may or may not be committed by the next leader. */
  doubt(nowMs: number): void {
    if (this.#inDoubtCount === this.#awaited.length) return;
    for (const each of this.#drainAwaited()) this.#await([{ ...each, inDoubtSinceMs: each.inDoubtSinceMs ?? nowMs }]);
    this.#waits();
  }

  /** Gives up on entries in doubt since then or longer: their outcome stays unknown. */
  takeUnknown(sinceMs: number): readonly Token[] {
    if (this.#inDoubtCount === 0) return [];
    const isLate = ({ inDoubtSinceMs }: Awaited): boolean => inDoubtSinceMs !== undefined && inDoubtSinceMs <= sinceMs;
    const all = this.#drainAwaited();
    this.#await(all.filter((each) => !isLate(each)));
    return all.filter(isLate).map(({ proposal }) => proposal.token);
  }

  /** Removes and returns requests whose entries were superseded or skipped, so that no outcome will come. */
  takeLost(): Lost {
    const lost = this.#lost;
    this.#lost = NONE;
    return lost;
  }

  /** The request of this entry; undefined when it has none. Called once for each applied entry, in order. */
  settle(entry: Pick<Entry, 'index' | 'term'>): Token | undefined {
    let own: Token | undefined;
    for (
      let next = this.#awaited.peek();
      next !== undefined && next.index <= entry.index;
      next = this.#awaited.peek()
    ) {
      this.#awaited.shift();
      this.#count(next, -1);
      if (next.index === entry.index && next.term === entry.term) own = next.proposal.token;
      else this.#lose(next, entry);
    }
    return own;
  }

  /** Removes every proposal, because the group is gone. */
  abandon(): readonly Token[] {
    return [...this.#drainAwaited(), ...this.takeWaiting()].map(({ proposal }) => proposal.token);
  }

  #await(entries: readonly Awaited[]): void {
    for (const each of entries) this.#count(each, 1);
    const last = this.#awaited.at(this.#awaited.length - 1);
    const [first] = entries;
    // Only a new leadership uses an index again.
    const isBefore = last !== undefined && first !== undefined && first.index < last.index;
    const ordered = isBefore
      ? [...this.#awaited.drain(), ...entries].toSorted((one, other) => one.index - other.index)
      : entries;
    for (const each of ordered) this.#awaited.push(each);
  }

  #drainAwaited(): readonly Awaited[] {
    const all = this.#awaited.drain();
    for (const each of all) this.#count(each, -1);
    return all;
  }

  #count({ proposal, inDoubtSinceMs }: Awaited, sign: 1 | -1): void {
    if (inDoubtSinceMs === undefined) return;
    this.#inDoubtCount += sign;
    this.#held.bytes += sign * proposal.payload.length;
  }

  #lose({ proposal, index, inDoubtSinceMs: sinceMs }: Awaited, entry: Pick<Entry, 'index'>): void {
    assert(sinceMs !== undefined, 'What a leader has proposed is committed as it is', [index, entry.index]);
    const lost = { proposal, sinceMs };
    const { superseded, unknown } = this.#lost;
    this.#lost =
      index < entry.index
        ? { superseded, unknown: [...unknown, lost] }
        : { superseded: [...superseded, lost], unknown };
  }

  #hold(bytes: number): void {
    this.#waitingBytes += bytes;
    this.#held.bytes += bytes;
  }
}

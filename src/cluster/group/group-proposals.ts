/**
 * The unanswered proposals of one group.
 *
 * ```
 *   waiting (no leader yet) --> offered (inside one step) --> in flight (an entry of the log) --> settled
 *                     |                                            |  the lead is lost
 *                     |                                            v
 *                     +--> forwarded (forwards.ts) --> accepted: awaited --> settled, superseded or given up
 * ```
 * Entries are applied in the order of the log, so proposals in flight are a queue: each applied entry is either its
 * first element, or belongs to no proposal (a no-op, or an entry of another leadership).
 *
 * The outcome of an awaited request is known when its index is applied here (awaited-entries.ts). After a timeout its
 * outcome is reported as unknown (C2). A request forwarded by another node is never in flight here: its own node awaits
 * it. A request keeps its payload until it is settled, because it may have to be proposed again (forwards.ts).
 */
import { assert, Fifo, type LogIndex, type Term, toLogIndex } from '#base';
import type { Entry, Proposed } from '#raft';
import { isForeign, type Proposal, type Token } from '../link.ts';
import { AwaitedEntries } from './awaited-entries.ts';
import type { HeldBytes } from './node-memory.ts';

/** Position of a proposal in the log. */
export interface InFlight {
  readonly proposal: Proposal;
  readonly index: LogIndex;
  readonly term: Term;
}

/** A proposal that has become an entry. */
export interface Entered {
  readonly proposal: Proposal;
  readonly index: LogIndex;
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
  readonly #inFlight = new Fifo<InFlight>();
  readonly #awaited: AwaitedEntries;
  #lost = NONE;
  readonly #waits: () => void;
  /** Bytes of waiting and awaited requests, in all groups. */
  readonly #held: HeldBytes;

  /** `waits` is called when a request starts to wait for other nodes, or for a leader. */
  constructor(waits: () => void = () => undefined, held: HeldBytes = { bytes: 0 }) {
    this.#waits = waits;
    this.#held = held;
    this.#awaited = new AwaitedEntries(held);
  }

  get count(): number {
    return this.#waiting.length + this.#inFlight.length + this.#awaited.count + this.#lost.unknown.length;
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
    const entered: Entered[] = [];
    for (const proposal of offered.slice(0, answer.accepted)) {
      const index = toLogIndex(answer.first + entered.length);
      entered.push({ proposal, index });
      if (!isForeign(proposal.token)) this.#inFlight.push({ proposal, index, term: answer.term });
    }
    return { entered, refused: offered.slice(answer.accepted) };
  }

  /** Another node's log has it as this entry, which is not applied here yet. */
  expect(entry: InFlight, nowMs: number): void {
    this.#awaited.add({ ...entry, sinceMs: nowMs });
    this.#waits();
  }

  /** The leadership is lost: proposals in flight may or may not be committed by the next leader. */
  doubt(nowMs: number): void {
    for (const each of this.#inFlight.drain()) this.expect(each, nowMs);
  }

  /** Gives up on requests awaited since then or longer: their outcome stays unknown. */
  takeUnknown(sinceMs: number): readonly Token[] {
    return this.#awaited.takeLate(sinceMs);
  }

  /** Removes and returns requests whose entries were superseded or skipped, so that no outcome will come. */
  takeLost(): Lost {
    const lost = this.#lost;
    this.#lost = NONE;
    return lost;
  }

  /** The request of this entry; undefined when it has none. Called once for each applied entry, in order. */
  settle(entry: Entry): Token | undefined {
    const awaited = this.#awaited.count > 0 ? this.#settleAwaited(entry) : undefined;
    const first = this.#inFlight.peek();
    if (first === undefined || first.index > entry.index) return awaited;
    assert(first.index === entry.index, 'No proposal in flight is passed over', [first.index, entry.index]);
    assert(first.term === entry.term, 'What a leader has proposed is committed as it is', [first.term, entry.term]);
    return this.#inFlight.shift()?.proposal.token;
  }

  /** Removes every proposal, because the group is gone. */
  abandon(): readonly Token[] {
    const entered = [...this.#inFlight.drain().map(({ proposal }) => proposal.token), ...this.#awaited.takeAll()];
    return [...entered, ...this.takeWaiting().map(({ proposal }) => proposal.token)];
  }

  #hold(bytes: number): void {
    this.#waitingBytes += bytes;
    this.#held.bytes += bytes;
  }

  #settleAwaited(entry: Entry): Token | undefined {
    const { own, superseded, unknown } = this.#awaited.settle(entry);
    if (superseded.length + unknown.length > 0) {
      this.#lost = {
        superseded: [...this.#lost.superseded, ...superseded],
        unknown: [...this.#lost.unknown, ...unknown],
      };
    }
    return own;
  }
}

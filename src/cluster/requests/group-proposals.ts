/**
 * The proposals of one group that nobody has an answer for yet.
 *
 * ```
 *   waiting (no leader yet) --> offered (inside one step) --> in flight (an entry of the log) --> settled
 *                     |                                            |  the lead is lost
 *                     |                                            v
 *                     +--> forwarded (forwards.ts) --> accepted: awaited --> settled, superseded or given up
 * ```
 * Entries are applied in the order of the log, so the ones in flight are a queue: each applied entry either is the
 * first of it, or is nobody's (a no-op, or an entry of another leadership).
 *
 * What is awaited is found out when its index is applied here (awaited-entries.ts). Whoever waits too long for that is
 * told that nobody knows (C2). What another node has forwarded is never in flight: its node awaits it. A request keeps
 * its payload until it is settled, for it may have to be proposed again (forwards.ts).
 */
import { assert, Fifo, type LogIndex, type Term, toLogIndex } from '#base';
import type { Entry, Proposed } from '#raft';
import type { HeldBytes } from '../group/node-memory.ts';
import { isForeign, type Proposal, type Token } from '../thread/link.ts';
import { AwaitedEntries } from './awaited-entries.ts';

/** Where a proposal stands in the log. */
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
  /** Their indexes were passed over here. */
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
  /** What waits, or is awaited, in all groups. */
  readonly #held: HeldBytes;

  /** `waits` is called when somebody begins to wait for other nodes, or for a leader. */
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

  /** Takes out the proposals that wait since then or longer. */
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

  /** Says whose payloads the coming `propose` input carries, in its order. */
  offer(proposals: readonly Proposal[]): void {
    this.#offered = proposals;
  }

  /** Takes the answer to that input in; returns the proposals that became entries, and the ones that did not. */
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

  /** The lead is lost: what is in flight may be committed by the next leader, or not. */
  doubt(nowMs: number): void {
    for (const each of this.#inFlight.drain()) this.expect(each, nowMs);
  }

  /** Gives up on what is awaited since then or longer: what became of it will not be told. */
  takeUnknown(sinceMs: number): readonly Token[] {
    return this.#awaited.takeLate(sinceMs);
  }

  /** Takes out those at whose index another entry was settled, or none: their outcome will not come. */
  takeLost(): Lost {
    const lost = this.#lost;
    this.#lost = NONE;
    return lost;
  }

  /** Whose this entry is; undefined when it is nobody's. Called once for each applied entry, in order. */
  settle(entry: Entry): Token | undefined {
    const awaited = this.#awaited.count > 0 ? this.#settleAwaited(entry) : undefined;
    const first = this.#inFlight.peek();
    if (first === undefined || first.index > entry.index) return awaited;
    assert(first.index === entry.index, 'No proposal in flight is passed over', [first.index, entry.index]);
    assert(first.term === entry.term, 'What a leader has proposed is committed as it is', [first.term, entry.term]);
    return this.#inFlight.shift()?.proposal.token;
  }

  /** Gives every proposal up: the group is gone. */
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

/**
 * The proposals of one group that nobody has an answer for yet.
 *
 *   waiting (no leader yet) --> offered (inside one step) --> in flight (an entry of the log) --> settled
 *                                                                  |  the lead is lost
 *                                                                  v
 *                                                              doubtful --> settled, superseded or given up
 *
 * Entries are applied in the order of the log, so the ones in flight are a queue: each applied entry either is the
 * first of it, or is nobody's (a no-op, or an entry of another leadership).
 *
 * What is doubtful is found out when its index is applied here: the entry has the term of the proposal, and is it, or
 * another one is committed in its place for good. Whoever waits too long for that is told that nobody knows (C2).
 */
import { assert, type LogIndex, type Term, toLogIndex } from '#base';
import type { Entry, Proposed } from '#raft';
import { Fifo } from './fifo.ts';
import type { Proposal, Token } from './link.ts';

interface InFlight {
  readonly token: Token;
  readonly index: LogIndex;
  readonly term: Term;
}

interface Doubtful extends InFlight {
  readonly sinceMs: number;
}

interface Waiting {
  readonly proposal: Proposal;
  readonly sinceMs: number;
}

const NOBODY: readonly Token[] = [];

export class GroupProposals {
  readonly #waiting = new Fifo<Waiting>();
  #waitingBytes = 0;
  #offered: readonly Proposal[] = [];
  readonly #inFlight = new Fifo<InFlight>();
  #doubtful: readonly Doubtful[] = [];
  #superseded: readonly Token[] = NOBODY;

  get count(): number {
    return this.#waiting.length + this.#inFlight.length + this.#doubtful.length;
  }

  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  wait(proposal: Proposal, nowMs: number): void {
    this.#waiting.push({ proposal, sinceMs: nowMs });
    this.#waitingBytes += proposal.payload.length;
  }

  takeWaiting(): readonly Proposal[] {
    this.#waitingBytes = 0;
    return this.#waiting.drain().map(({ proposal }) => proposal);
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
      this.#waitingBytes -= first.proposal.payload.length;
      late.push(first.proposal.token);
    }
    return late;
  }

  /** Says whose payloads the coming `propose` input carries, in its order. */
  offer(proposals: readonly Proposal[]): void {
    this.#offered = proposals;
  }

  /** Takes the answer to that input in; returns the proposals that became entries, and the ones that did not. */
  admit(answer: Proposed): { readonly entered: readonly Proposal[]; readonly refused: readonly Proposal[] } {
    const offered = this.#offered;
    this.#offered = [];
    let index: number = answer.first;
    const entered = offered.slice(0, answer.accepted);
    for (const { token } of entered) {
      this.#inFlight.push({ token, index: toLogIndex(index), term: answer.term });
      index += 1;
    }
    return { entered, refused: offered.slice(answer.accepted) };
  }

  /** The lead is lost: what is in flight may be committed by the next leader, or not. */
  doubt(nowMs: number): void {
    const lost = this.#inFlight.drain().map((each) => ({ ...each, sinceMs: nowMs }));
    if (lost.length > 0) this.#doubtful = [...this.#doubtful, ...lost];
  }

  /** Gives up on what is doubtful since then or longer: what becomes of it will not be told. */
  takeUnknown(sinceMs: number): readonly Token[] {
    if (this.#doubtful.length === 0) return [];
    const unknown = this.#doubtful.filter((each) => each.sinceMs <= sinceMs);
    this.#doubtful = this.#doubtful.filter((each) => each.sinceMs > sinceMs);
    return unknown.map(({ token }) => token);
  }

  /** Whose this entry is; undefined when it is nobody's. Called once for each applied entry, in order. */
  settle(entry: Entry): Token | undefined {
    const doubtful = this.#doubtful.length > 0 ? this.#settleDoubtful(entry) : undefined;
    const first = this.#inFlight.peek();
    if (first === undefined || first.index > entry.index) return doubtful;
    assert(first.index === entry.index, 'No proposal in flight is passed over', [first.index, entry.index]);
    assert(first.term === entry.term, 'What a leader has proposed is committed as it is', [first.term, entry.term]);
    return this.#inFlight.shift()?.token;
  }

  /** Takes out those at whose index another entry than theirs was settled. */
  takeSuperseded(): readonly Token[] {
    const superseded = this.#superseded;
    this.#superseded = NOBODY;
    return superseded;
  }

  /** Gives every proposal up: the group is gone. */
  abandon(): readonly Token[] {
    const entered = [...this.#inFlight.drain(), ...this.#doubtful].map(({ token }) => token);
    this.#doubtful = [];
    return [...entered, ...this.takeWaiting().map(({ token }) => token)];
  }

  /** Those of earlier leaderships may stand at the index of one that is in flight; their order says nothing. */
  #settleDoubtful(entry: Entry): Token | undefined {
    const here = this.#doubtful.filter(({ index }) => index === entry.index);
    if (here.length === 0) return undefined;
    this.#doubtful = this.#doubtful.filter(({ index }) => index !== entry.index);
    const own = here.find(({ term }) => term === entry.term);
    const superseded = here.filter((each) => each !== own).map(({ token }) => token);
    this.#superseded = [...this.#superseded, ...superseded];
    return own?.token;
  }
}

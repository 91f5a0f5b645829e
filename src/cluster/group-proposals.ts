/**
 * The proposals of one group that nobody has an answer for yet.
 *
 *   waiting (no leader yet) --> offered (inside one step) --> in flight (an entry of the log) --> settled
 *
 * Entries are applied in the order of the log, so the ones in flight are a queue: each applied entry either is the
 * first of it, or is nobody's (a no-op, or an entry from before a restart).
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

export class GroupProposals {
  readonly #waiting = new Fifo<Proposal>();
  #waitingBytes = 0;
  #offered: readonly Proposal[] = [];
  readonly #inFlight = new Fifo<InFlight>();

  get count(): number {
    return this.#waiting.length + this.#inFlight.length;
  }

  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  wait(proposal: Proposal): void {
    this.#waiting.push(proposal);
    this.#waitingBytes += proposal.payload.length;
  }

  takeWaiting(): readonly Proposal[] {
    this.#waitingBytes = 0;
    return this.#waiting.drain();
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

  /** Whose entry this is; undefined when it is nobody's. Called once for each applied entry, in order. */
  settle(entry: Entry): Token | undefined {
    const first = this.#inFlight.peek();
    if (first === undefined || first.index > entry.index) return undefined;
    assert(first.index === entry.index, 'No proposal in flight is passed over', [first.index, entry.index]);
    assert(first.term === entry.term, 'A proposal comes back in the term it was made in', [first.term, entry.term]);
    return this.#inFlight.shift()?.token;
  }

  /** Gives every proposal up: the group is gone. */
  abandon(): readonly Token[] {
    return [...this.#inFlight.drain(), ...this.takeWaiting()].map(({ token }) => token);
  }
}

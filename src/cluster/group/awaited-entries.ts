/**
 * Entries with a waiting client that this node has not proposed itself, or has proposed before it lost its leadership:
 * forwarded requests, and proposals in flight.
 *
 * The outcome is known when the index is applied here: the entry has the term of its proposal, or another one is
 * committed in its place for good. A snapshot may skip the index; then the outcome stays unknown here.
 */
import { Fifo, type LogIndex, type Term } from '#base';
import type { Proposal, Token } from '../link.ts';
import type { HeldBytes } from './node-memory.ts';

export interface AwaitedEntry {
  readonly proposal: Proposal;
  readonly index: LogIndex;
  readonly term: Term;
  readonly sinceMs: number;
}

/** Effect of an applied entry on waiting clients. */
export interface Found {
  /** The request of the entry. */
  readonly own: Token | undefined;
  /** Requests in whose place the entry was committed. */
  readonly superseded: readonly AwaitedEntry[];
  /** Requests whose entries were skipped. */
  readonly unknown: readonly AwaitedEntry[];
}

const NOTHING: Found = { own: undefined, superseded: [], unknown: [] };

export class AwaitedEntries {
  /** Sorted by index, ascending. */
  #entries = new Fifo<AwaitedEntry>();
  /** Counts the payloads, which are kept for another proposal. */
  readonly #held: HeldBytes;

  constructor(held: HeldBytes) {
    this.#held = held;
  }

  get count(): number {
    return this.#entries.length;
  }

  add(entry: AwaitedEntry): void {
    this.#held.bytes += entry.proposal.payload.length;
    const last = this.#entries.at(this.#entries.length - 1);
    if (last === undefined || last.index <= entry.index) this.#entries.push(entry);
    // Only a new leadership uses an index again.
    else this.#hold([...this.#entries.drain(), entry].toSorted((one, other) => one.index - other.index));
  }

  /** Called for each applied entry, in order. */
  settle(applied: { readonly index: LogIndex; readonly term: Term }): Found {
    const first = this.#entries.peek();
    if (first === undefined || first.index > applied.index) return NOTHING;
    let own: Token | undefined;
    const superseded: AwaitedEntry[] = [];
    const unknown: AwaitedEntry[] = [];
    for (let next = this.#take(applied.index); next !== undefined; next = this.#take(applied.index)) {
      if (next.index < applied.index) unknown.push(next);
      else if (next.term === applied.term) own = next.proposal.token;
      else superseded.push(next);
    }
    return { own, superseded, unknown };
  }

  /** Removes and returns those that have waited since then or longer. */
  takeLate(sinceMs: number): readonly Token[] {
    if (this.#entries.length === 0) return [];
    const all = this.#entries.drain();
    this.#hold(all.filter((each) => each.sinceMs > sinceMs));
    return this.#release(all.filter((each) => each.sinceMs <= sinceMs));
  }

  takeAll(): readonly Token[] {
    return this.#release(this.#entries.drain());
  }

  #release(entries: readonly AwaitedEntry[]): readonly Token[] {
    for (const { proposal } of entries) this.#held.bytes -= proposal.payload.length;
    return entries.map(({ proposal }) => proposal.token);
  }

  #take(upTo: LogIndex): AwaitedEntry | undefined {
    const first = this.#entries.peek();
    if (first === undefined || first.index > upTo) return undefined;
    this.#held.bytes -= first.proposal.payload.length;
    return this.#entries.shift();
  }

  #hold(entries: readonly AwaitedEntry[]): void {
    for (const entry of entries) this.#entries.push(entry);
  }
}

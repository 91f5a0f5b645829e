/**
 * The linearizable reads of one group that nobody has an answer for yet.
 *
 *   waiting (nobody to ask) --> asked (read index requested) --> parked (index known, not applied) --> answered
 *
 * Reads that arrive in one turn share one read index. A read never joins one that was asked for before it arrived.
 */
import type { LogIndex, Term } from '#base';
import type { Token } from './link.ts';

export interface ParkedRead {
  readonly tokens: readonly Token[];
  readonly index: LogIndex;
  readonly term: Term;
  readonly sinceMs: number;
}

interface WaitingRead {
  readonly tokens: readonly Token[];
  readonly sinceMs: number;
}

export class GroupReads {
  #waiting: readonly WaitingRead[] = [];
  readonly #asked = new Map<number, readonly Token[]>();
  #parked: readonly ParkedRead[] = [];
  #lastId = 0;
  readonly #waits: () => void;

  /** `waits` is called when somebody begins to wait for other nodes, or for a leader. */
  constructor(waits: () => void = () => undefined) {
    this.#waits = waits;
  }

  get count(): number {
    return this.#waiting.length + this.#asked.size + this.#parked.length;
  }

  wait(tokens: readonly Token[], nowMs: number): void {
    this.#waiting = [...this.#waiting, { tokens, sinceMs: nowMs }];
    this.#waits();
  }

  takeWaiting(): readonly Token[] {
    const tokens = this.#waiting.flatMap((read) => read.tokens);
    this.#waiting = [];
    return tokens;
  }

  /** Numbers a read index request for these reads. */
  ask(tokens: readonly Token[]): number {
    this.#lastId += 1;
    this.#asked.set(this.#lastId, tokens);
    return this.#lastId;
  }

  /** Whose request that was; it is answered only once. */
  answered(id: number): readonly Token[] {
    const tokens = this.#asked.get(id) ?? [];
    this.#asked.delete(id);
    return tokens;
  }

  park(read: ParkedRead): void {
    this.#parked = [...this.#parked, read];
    this.#waits();
  }

  /** Takes out the reads whose index is applied. */
  takeApplied(index: LogIndex): readonly ParkedRead[] {
    if (this.#parked.length === 0) return [];
    const ready = this.#parked.filter((read) => read.index <= index);
    this.#parked = this.#parked.filter((read) => read.index > index);
    return ready;
  }

  /** Takes out the reads that wait for somebody to ask, or for their index, since then or longer. */
  takeLate(sinceMs: number): readonly Token[] {
    if (this.#waiting.length + this.#parked.length === 0) return [];
    const late = [...this.#waiting, ...this.#parked].filter((read) => read.sinceMs <= sinceMs);
    this.#waiting = this.#waiting.filter((read) => read.sinceMs > sinceMs);
    this.#parked = this.#parked.filter((read) => read.sinceMs > sinceMs);
    return late.flatMap((read) => read.tokens);
  }

  /** Gives every read up: the group is gone. */
  abandon(): readonly Token[] {
    const parked = this.#parked.flatMap((read) => read.tokens);
    const asked = [...this.#asked.values()].flat();
    this.#parked = [];
    this.#asked.clear();
    return [...parked, ...asked, ...this.takeWaiting()];
  }
}

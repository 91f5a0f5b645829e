/**
 * The unanswered linearizable reads of one group.
 *
 *   waiting (no leader) --> asked (read index requested) --> parked (index known, not applied) --> answered
 *
 * Reads that arrive in one turn share one read index. A read never joins a read index that was requested before it
 * arrived. A read whose request or answer was lost waits again, and keeps the start of its wait.
 */
import type { LogIndex, Term } from '#base';
import type { Token } from '../link.ts';

/** Reads that arrived together, and the start of their wait. */
export interface WaitingRead {
  readonly tokens: readonly Token[];
  readonly sinceMs: number;
}

export interface ParkedRead extends WaitingRead {
  readonly index: LogIndex;
  readonly term: Term;
}

/** Maximum number of pending read-index requests of one group; later reads share the next request. */
const ASKED_MAX = 64;

export class GroupReads {
  #waiting: WaitingRead[] = [];
  readonly #asked = new Map<number, readonly WaitingRead[]>();
  #parked: ParkedRead[] = [];
  /** The lowest index that a parked read waits for. */
  #leastParked: number = Number.POSITIVE_INFINITY;
  #count = 0;
  #lastId = 0;
  readonly #waits: () => void;

  /** `waits` is called when a read starts to wait for other nodes, or for a leader. */
  constructor(waits: () => void = () => undefined) {
    this.#waits = waits;
  }

  /** Number of reads, not of turns. */
  get count(): number {
    return this.#count;
  }

  /** True when the next reads wait until a request is answered. */
  get hasAskedEnough(): boolean {
    return this.#asked.size >= ASKED_MAX;
  }

  get isWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  wait(reads: readonly WaitingRead[]): void {
    this.#count += countOf(reads);
    this.#waiting.push(...reads);
    this.#waits();
  }

  takeWaiting(): readonly WaitingRead[] {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#count -= countOf(waiting);
    return waiting;
  }

  /** Assigns a number to a read-index request for these reads. */
  ask(reads: readonly WaitingRead[]): number {
    this.#lastId += 1;
    this.#count += countOf(reads);
    this.#asked.set(this.#lastId, reads);
    return this.#lastId;
  }

  /** The reads of that request; each is answered only once. */
  answered(id: number): readonly WaitingRead[] {
    const reads = this.#asked.get(id) ?? [];
    this.#asked.delete(id);
    this.#count -= countOf(reads);
    return reads;
  }

  park(read: ParkedRead): void {
    this.#count += read.tokens.length;
    this.#parked.push(read);
    this.#leastParked = Math.min(this.#leastParked, read.index);
    this.#waits();
  }

  /** Removes and returns the reads whose index is applied. */
  takeApplied(index: LogIndex): readonly ParkedRead[] {
    if (index < this.#leastParked) return [];
    const ready = this.#parked.filter((read) => read.index <= index);
    this.#keep(this.#parked.filter((read) => read.index > index));
    this.#count -= countOf(ready);
    return ready;
  }

  /** Removes and returns the reads that have waited for a leader, or for their index, since then or longer. */
  takeLate(sinceMs: number): readonly Token[] {
    if (this.#waiting.length + this.#parked.length === 0) return [];
    const late = [...this.#waiting, ...this.#parked].filter((read) => read.sinceMs <= sinceMs);
    if (late.length === 0) return [];
    this.#waiting = this.#waiting.filter((read) => read.sinceMs > sinceMs);
    this.#keep(this.#parked.filter((read) => read.sinceMs > sinceMs));
    this.#count -= countOf(late);
    return tokensOf(late);
  }

  /** Removes every read, because the group is gone. */
  abandon(): readonly Token[] {
    const all = [...this.#parked, ...[...this.#asked.values()].flat(), ...this.takeWaiting()];
    this.#keep([]);
    this.#asked.clear();
    this.#count = 0;
    return tokensOf(all);
  }

  #keep(parked: ParkedRead[]): void {
    this.#parked = parked;
    this.#leastParked = parked.reduce((least, { index }) => Math.min(least, index), Number.POSITIVE_INFINITY);
  }
}

export function tokensOf(reads: readonly WaitingRead[]): readonly Token[] {
  return reads.flatMap(({ tokens }) => tokens);
}

function countOf(reads: readonly WaitingRead[]): number {
  return reads.reduce((count, { tokens }) => count + tokens.length, 0);
}

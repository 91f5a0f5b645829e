/**
 * Worlds as 64 bits: the same for two worlds that nothing can tell apart from here on, and for two that only differ in
 * who is who. And the parts of worlds, replicas, messages and histories, as small numbers.
 *
 * Complete by construction: each type has a total schema (state-key.ts). A part gets its number by all of its words, so
 * that two parts share one only if they are the same. The words are hashed once for each permutation, and of a world
 * the sums of the hashes of its parts are kept: the network is a set, and a replica's words begin with its name. So the
 * sums of the next world differ from those of the one before by the parts that a move has changed.
 *
 * Symmetry: the key is made of the least sum among those under all given permutations of the replicas. Two worlds that
 * are the same under one of them thus share it. Whoever asks must give a group of permutations under which the group
 * behaves alike (search.ts says which, and why).
 *
 * A false merge: two of n different worlds share 64 bits by chance with a probability of about n² / 2^65, which is
 * 3 in 10,000 for a hundred million worlds (with k permutations each world draws k times: k times as likely).
 */
import type { Words, Writer } from './fields.ts';
import { ENVELOPE, HISTORY, REPLICA } from './state-key.ts';
import type { Envelope, History, Replica, World } from './world.ts';

/** Where each replica goes: the new name of replica n stands at n. */
export type Permutation = readonly number[];

/** Two words of 32 bits. */
export interface Key {
  readonly high: number;
  readonly low: number;
}

/** Parts of one kind, numbered from 0 on in the order in which they came. */
export class Table<T extends object> {
  readonly #write: Writer<T>;
  readonly #permutations: readonly Permutation[];
  readonly #numbers = new Map<string, number>();
  readonly #parts: T[] = [];
  #hashes: Uint32Array;

  constructor(write: Writer<T>, permutations: readonly Permutation[]) {
    this.#write = write;
    this.#permutations = permutations;
    this.#hashes = new Uint32Array(2 * permutations.length * 1024);
  }

  numberOf(part: T): number {
    const [names = []] = this.#permutations;
    const words: Words = { names, out: [] };
    this.#write(part, words);
    const text = words.out.join();
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    const number = this.#parts.length;
    this.#numbers.set(text, number);
    this.#parts.push(part);
    this.#hash(part, number);
    return number;
  }

  /** The first part that got the number. */
  partOf(number: number): T {
    const part = this.#parts[number];
    if (part === undefined) throw new RangeError(`No part has the number ${number}`);
    return part;
  }

  /** Adds the hashes of a part, or takes them away again. */
  addTo(sums: Uint32Array, number: number): void {
    const from = number * sums.length;
    for (let at = 0; at < sums.length; at += 1) sums[at] = (sums[at] ?? 0) + (this.#hashes[from + at] ?? 0);
  }

  /** Adds the hashes of parts whose order counts: to each those of its place. */
  addInOrder(sums: Uint32Array, numbers: readonly number[]): void {
    for (const [place, number] of numbers.entries()) {
      const from = number * sums.length;
      // Odd factors, so that no two hashes become one; that of what has no place is 1.
      const factor = 2 * place + 3;
      for (let at = 0; at < sums.length; at += 1) {
        sums[at] = (sums[at] ?? 0) + Math.imul(this.#hashes[from + at] ?? 0, factor);
      }
    }
  }

  takeFrom(sums: Uint32Array, number: number): void {
    const from = number * sums.length;
    for (let at = 0; at < sums.length; at += 1) sums[at] = (sums[at] ?? 0) - (this.#hashes[from + at] ?? 0);
  }

  #hash(part: T, number: number): void {
    const size = 2 * this.#permutations.length;
    if ((number + 1) * size > this.#hashes.length) {
      const grown = new Uint32Array(2 * this.#hashes.length);
      grown.set(this.#hashes);
      this.#hashes = grown;
    }
    for (const [at, names] of this.#permutations.entries()) {
      const words: Words = { names, out: [] };
      this.#write(part, words);
      hashInto(this.#hashes, number * this.#permutations.length + at, words.out);
    }
  }
}

/** The parts that worlds of one search are made of. */
export class Tables {
  readonly permutations: readonly Permutation[];
  readonly replicas: Table<Replica>;
  readonly envelopes: Table<Envelope>;
  readonly histories: Table<History>;

  constructor(permutations: readonly Permutation[]) {
    this.permutations = permutations;
    this.replicas = new Table(REPLICA, permutations);
    this.envelopes = new Table(ENVELOPE, permutations);
    this.histories = new Table(HISTORY, permutations);
  }

  noSums(): Uint32Array {
    return new Uint32Array(2 * this.permutations.length);
  }
}

/** Keys of whole worlds, each made from nothing: what the search makes step by step. */
export class Keys {
  readonly #tables: Tables;

  constructor(permutations: readonly Permutation[]) {
    this.#tables = new Tables(permutations);
  }

  /** `rest` is what the search itself keeps beside the world. */
  of(world: World, rest: readonly number[]): Key {
    const { replicas, envelopes, histories } = this.#tables;
    const sums = this.#tables.noSums();
    for (const each of world.replicas.values()) replicas.addTo(sums, replicas.numberOf(each));
    for (const each of world.network) envelopes.addTo(sums, envelopes.numberOf(each));
    const due = world.due?.map((each) => envelopes.numberOf(each)) ?? [];
    envelopes.addInOrder(sums, due);
    histories.addTo(sums, histories.numberOf(world.history));
    const key = new Uint32Array(2);
    keyInto(key, sums, rest);
    return { high: key[0] ?? 0, low: key[1] ?? 0 };
  }

  /** The same for equal messages. */
  ofEnvelope(envelope: Envelope): number {
    return this.#tables.envelopes.numberOf(envelope);
  }
}

/** The key of a world whose parts have these sums, mixed with `rest`, so that similar sums make unlike keys. */
export function keyInto(key: Uint32Array, sums: Uint32Array, rest: readonly number[]): void {
  let least = 0;
  for (let at = 2; at < sums.length; at += 2) if (isLess(sums, at, least)) least = at;
  hashInto(key, 0, [sums[least] ?? 0, sums[least + 1] ?? 0, ...rest]);
}

function isLess(sums: Uint32Array, one: number, other: number): boolean {
  const high = (sums[one] ?? 0) - (sums[other] ?? 0);
  return high === 0 ? (sums[one + 1] ?? 0) < (sums[other + 1] ?? 0) : high < 0;
}

/** Two lanes of the 32-bit rounds of MurmurHash3, each of which takes the other in, to the two words at `at`. */
export function hashInto(hashes: Uint32Array, at: number, words: readonly number[]): void {
  let one = 0x9747b28c;
  let other = 0x2f6c3a1d;
  for (const word of words) {
    one ^= Math.imul(turn(Math.imul(word, 0xcc9e2d51), 15), 0x1b873593);
    one = Math.imul(turn(one, 13) + other, 5) + 0x561ccd1b;
    other ^= Math.imul(turn(Math.imul(word, 0x38b34ae5), 17), 0xa1e38b93);
    other = Math.imul(turn(other, 16) + one, 5) + 0x0bcaa747;
  }
  one = finish(one ^ words.length);
  other = finish((other ^ words.length) + one);
  hashes[2 * at] = one + other;
  hashes[2 * at + 1] = other;
}

function turn(word: number, by: number): number {
  return (word << by) | (word >>> (32 - by));
}

function finish(word: number): number {
  let mixed = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}

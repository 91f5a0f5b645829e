/**
 * Bytes of many small things that go without a hold of their own, as long as all of them together are few.
 *
 * A hold of a budget waits in queues and may be evicted; what is gone in a moment, as nearly everything is, need not
 * pay for that. What finds no room here is refused, or takes it from a budget. (TM1)
 *
 * A connection gets more as long as as much is free as it then has. n connections that take what they can, and keep it,
 * have an (n + 1)th each, and as much is left for another one (TM4). Places of calls are shared in the same way (T9).
 */
import { assert } from '#base';

export class Allowance {
  readonly bytesMax: number;
  readonly #claims = new WeakMap<object, Claim>();
  #used = 0;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /** Bytes that are had now. */
  get used(): number {
    return this.#used;
  }

  /** What a connection has of it. */
  of(connection: object): Claim {
    const known = this.#claims.get(connection);
    if (known !== undefined) return known;
    const claim = new Claim(this);
    this.#claims.set(connection, claim);
    return claim;
  }

  /** For the claims alone: so many more, or fewer, bytes. */
  add(bytes: number): void {
    this.#used += bytes;
    assert(this.#used >= 0, 'An allowance is not given back more than was taken', this.#used);
  }
}

/** What one connection has of an allowance. */
export class Claim {
  readonly #allowance: Allowance;
  #bytes = 0;

  /** For the allowance alone. */
  constructor(allowance: Allowance) {
    this.#allowance = allowance;
  }

  /** What the connection has. */
  get bytes(): number {
    return this.#bytes;
  }

  /** False: there is no room for so much. Whoever adds gives back as much, once. */
  tryAdd(bytes: number): boolean {
    const { bytesMax, used } = this.#allowance;
    if (this.#bytes + bytes > bytesMax - used) return false;
    this.#bytes += bytes;
    this.#allowance.add(bytes);
    return true;
  }

  /** The same, however much the connection has: what others have given back for it. */
  tryAddFree(bytes: number): boolean {
    const { bytesMax, used } = this.#allowance;
    if (bytes > bytesMax - used) return false;
    this.#bytes += bytes;
    this.#allowance.add(bytes);
    return true;
  }

  giveBack(bytes: number): void {
    this.#bytes -= bytes;
    assert(this.#bytes >= 0, 'A connection does not give back more than it has', this.#bytes);
    this.#allowance.add(-bytes);
  }

  /** The bytes, or undefined when there is no room for them. */
  tryTake(bytes: number): Share | undefined {
    return this.tryAdd(bytes) ? new Share(this, bytes) : undefined;
  }
}

/** Bytes that one small thing has. */
export class Share {
  readonly #claim: Claim;
  #bytes: number;

  /** For the claim alone. */
  constructor(claim: Claim, bytes: number) {
    this.#claim = claim;
    this.#bytes = bytes;
  }

  /** Gives the bytes back; once, however often it is called. */
  release(): void {
    this.#claim.giveBack(this.#bytes);
    this.#bytes = 0;
  }
}

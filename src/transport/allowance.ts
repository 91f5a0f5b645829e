/**
 * Bytes of many small things that go without a hold of their own, as long as all of them together are few.
 *
 * A hold of a budget waits in queues and may be evicted; what is gone in a moment, as nearly everything is, need not
 * pay for that. What finds no room here is refused, or takes it from a budget. (TM1)
 *
 * ```
 *   |<────────── common, three quarters ──────────>|<──── reserve, a quarter ────>|
 *    anybody                                         a little for each connection
 * ```
 * Connections that keep what they have, however much they ask for, leave some of the reserve to one that lets go (TM4).
 */
import { assert } from '#base';

export interface AllowanceOptions {
  readonly bytesMax: number;
  /** What a connection may have of the reserve. */
  readonly reservedBytesMax: number;
}

const RESERVE_PER_ALLOWANCE = 1 / 4;

export class Allowance {
  readonly bytesMax: number;
  /** For the claims alone, and so are the next four. */
  readonly reservedBytesMax: number;
  readonly #claims = new WeakMap<object, Claim>();
  readonly #reserveBytes: number;
  #common = 0;
  #reserved = 0;

  constructor({ bytesMax, reservedBytesMax }: AllowanceOptions) {
    this.bytesMax = bytesMax;
    this.reservedBytesMax = reservedBytesMax;
    this.#reserveBytes = Math.floor(bytesMax * RESERVE_PER_ALLOWANCE);
  }

  /** Bytes that are had now. */
  get used(): number {
    return this.#common + this.#reserved;
  }

  /** What a connection has of it. */
  of(connection: object): Claim {
    const known = this.#claims.get(connection);
    if (known !== undefined) return known;
    const claim = new Claim(this);
    this.#claims.set(connection, claim);
    return claim;
  }

  tryAddCommon(bytes: number): boolean {
    if (this.#common + bytes > this.bytesMax - this.#reserveBytes) return false;
    this.#common += bytes;
    return true;
  }

  tryAddReserved(bytes: number): boolean {
    if (this.#reserved + bytes > this.#reserveBytes) return false;
    this.#reserved += bytes;
    return true;
  }

  /** So many bytes, of which so many were of the reserve. */
  giveBack(bytes: number, reserved: number): void {
    this.#common -= bytes - reserved;
    this.#reserved -= reserved;
    assert(this.#common >= 0 && this.#reserved >= 0, 'An allowance is not given back more than was taken', this.used);
  }
}

/** What one connection has of an allowance. */
export class Claim {
  readonly #allowance: Allowance;
  #reserved = 0;

  /** For the allowance alone. */
  constructor(allowance: Allowance) {
    this.#allowance = allowance;
  }

  /** False: there is no room for so much. Whoever adds gives back as much, once. */
  tryAdd(bytes: number): boolean {
    if (this.#allowance.tryAddCommon(bytes)) return true;
    if (this.#reserved + bytes > this.#allowance.reservedBytesMax || !this.#allowance.tryAddReserved(bytes))
      return false;
    this.#reserved += bytes;
    return true;
  }

  giveBack(bytes: number): void {
    const reserved = Math.min(bytes, this.#reserved);
    this.#reserved -= reserved;
    this.#allowance.giveBack(bytes, reserved);
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

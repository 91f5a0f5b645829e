/**
 * Keys of an AWS load balancer: each is PEM at a URL that ends with its name, and never changes.
 *
 * ```
 *   name ── known ──> its key                          recently found to be absent ──> none
 *     └── neither ── is read already ──> its answer
 *                └── waits among 64 ── four at a time, ten in a second ──> read
 *                         └── the 64 are there ── the least requested name is evicted
 * ```
 *
 * A client that invents names causes at most ten requests per second and cannot block keys that others need: names are
 * read in the order of their first request, more requested names first, so a name that balancers send all the time
 * overtakes names that were sent once. A name without a key is not requested again for ten seconds, among 1,000 such
 * names. After a failed request nothing is requested for two seconds.
 */

import type { KeyObject } from 'node:crypto';
import { messageOf } from '#base';
import { keep } from '../bounded-map.ts';
import { boundedGet, DocumentNotFound } from './bounded-get.ts';
import { cannotTell, type KeySource, RETRY_MS, type SourceParts } from './key-source.ts';
import { publicKeyIn } from './pem-key.ts';
import type { TokenHeader } from './token-text.ts';

/** One path segment, so that the URL cannot lead elsewhere. */
const NAME = /^[\da-zA-Z-]{1,64}$/;
const KEYS_MAX = 32;
const BOUNDS = { bytesMax: 16 * 1024, timeoutMs: 5_000 } as const;

/** Limits on names that wait, on parallel requests, and on requests per second. */
const WAITING_MAX = 64;
const READING_MAX = 4;
const PER_SECOND = 10;
const EVERY_MS = 1_000 / PER_SECOND;
/** Maximum wait for the key of a name. */
const KEY_WAIT_MS = 5_000;
/** Maximum number of names that are known to have no key. */
const ABSENT_MAX = 1_000;
const ABSENT_MS = 10_000;

interface Wanted {
  readonly name: string;
  /** Number of requests for the name. */
  askedCount: number;
  readonly answer: PromiseWithResolvers<Answer>;
  readonly sinceMs: number;
  isReading: boolean;
}

type Answer = { readonly kind: 'key'; readonly key: KeyObject } | { readonly kind: 'none' | 'unknown' };

export class KeysByName implements KeySource {
  readonly algorithms: readonly string[] = ['ES256'];
  readonly version = 0;
  readonly #base: string;
  readonly #parts: SourceParts;
  /** Known keys, the oldest first. */
  readonly #known = new Map<string, KeyObject>();
  /** Names without a key, with the time until which that is assumed; the oldest first. */
  readonly #absent = new Map<string, number>();
  /** Names that wait, in the order of their first request. */
  readonly #wanted = new Map<string, Wanted>();
  #nextMs = Number.NEGATIVE_INFINITY;
  #readingCount = 0;
  #timer: NodeJS.Timeout | undefined;
  #failedAtMs = Number.NEGATIVE_INFINITY;

  /** `base`: a URL to which `/` and the name of a key are appended. */
  constructor(base: string, parts: SourceParts) {
    this.#base = base.replace(/\/$/, '');
    this.#parts = parts;
  }

  async find({ kid }: TokenHeader): Promise<KeyObject | undefined> {
    if (kid === undefined || !NAME.test(kid)) return undefined;
    const known = this.#known.get(kid);
    if (known !== undefined) return known;
    if (this.#isAbsent(kid)) return undefined;
    const answer = await this.#ask(kid);
    if (answer.kind === 'unknown') throw cannotTell();
    return answer.kind === 'key' ? answer.key : undefined;
  }

  #isAbsent(name: string): boolean {
    const untilMs = this.#absent.get(name);
    if (untilMs === undefined || this.#parts.monotonicMs() < untilMs) return untilMs !== undefined;
    this.#absent.delete(name);
    return false;
  }

  #ask(name: string): Promise<Answer> {
    if (this.#parts.monotonicMs() - this.#failedAtMs < RETRY_MS) return Promise.resolve(UNKNOWN);
    const wanted = this.#wanted.get(name) ?? this.#want(name);
    wanted.askedCount += 1;
    this.#readSome();
    return wanted.answer.promise;
  }

  #want(name: string): Wanted {
    if (this.#wanted.size >= WAITING_MAX) this.#giveUp(this.#least());
    const answer = Promise.withResolvers<Answer>();
    const wanted = { name, askedCount: 0, answer, sinceMs: this.#parts.monotonicMs(), isReading: false };
    this.#wanted.set(name, wanted);
    return wanted;
  }

  /** The name to evict: the least requested name, and among equals the one with the longest wait. */
  #least(): Wanted | undefined {
    return this.#first((one, other) => one.askedCount < other.askedCount);
  }

  #most(): Wanted | undefined {
    return this.#first((one, other) => one.askedCount > other.askedCount);
  }

  #first(isBefore: (one: Wanted, other: Wanted) => boolean): Wanted | undefined {
    let first: Wanted | undefined;
    for (const each of this.#wanted.values())
      if (!each.isReading && (first === undefined || isBefore(each, first))) first = each;
    return first;
  }

  #giveUp(wanted: Wanted | undefined, answer: Answer = UNKNOWN): void {
    if (wanted === undefined) return;
    this.#wanted.delete(wanted.name);
    wanted.answer.resolve(answer);
  }

  /** Starts as many requests as the limits allow, and schedules itself for the rest. */
  #readSome(): void {
    const nowMs = this.#parts.monotonicMs();
    while (this.#readingCount < READING_MAX && this.#nextMs - nowMs <= EVERY_MS * (READING_MAX - 1)) {
      const wanted = this.#most();
      if (wanted === undefined) return;
      this.#nextMs = Math.max(this.#nextMs, nowMs) + EVERY_MS;
      void this.#read(wanted);
    }
    if (this.#first(() => false) === undefined) return;
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#forgetLate();
      this.#readSome();
    }, EVERY_MS).unref();
  }

  #forgetLate(): void {
    const sinceMs = this.#parts.monotonicMs() - KEY_WAIT_MS;
    for (const each of this.#wanted.values()) if (!each.isReading && each.sinceMs < sinceMs) this.#giveUp(each);
  }

  async #read(wanted: Wanted): Promise<void> {
    wanted.isReading = true;
    this.#readingCount += 1;
    const answer = await this.#readOnce(wanted.name);
    this.#readingCount -= 1;
    this.#giveUp(wanted, answer);
    // The provider does not answer: all waiting names fail at once, because no other is requested meanwhile.
    if (answer.kind === 'unknown') for (const each of this.#wanted.values()) if (!each.isReading) this.#giveUp(each);
    this.#readSome();
  }

  /** Never rejects. */
  async #readOnce(name: string): Promise<Answer> {
    const url = `${this.#base}/${name}`;
    try {
      const key = publicKeyIn(await boundedGet(new URL(url), BOUNDS));
      if (key === undefined) throw new Error('its answer is no public key as PEM');
      keep(this.#known, name, key, KEYS_MAX);
      this.#parts.onRead(url);
      return { kind: 'key', key };
    } catch (failure) {
      this.#parts.onRead(url, messageOf(failure));
      const nowMs = this.#parts.monotonicMs();
      if (failure instanceof DocumentNotFound) {
        keep(this.#absent, name, nowMs + ABSENT_MS, ABSENT_MAX);
        return { kind: 'none' };
      }
      this.#failedAtMs = nowMs;
      return UNKNOWN;
    }
  }
}

const UNKNOWN: Answer = { kind: 'unknown' };

/**
 * Keys of a load balancer of AWS: each is PEM at a URL that ends with its name, and stays what it is for ever.
 *
 * One is read at a time, for all who wait for it. While nobody answers nothing is asked for two seconds; a name of
 * which there is no key costs as much, so that who makes names up has one request in two seconds made for him.
 */
import type { KeyObject } from 'node:crypto';
import { boundedGet, NothingThere } from './bounded-get.ts';
import { cannotTell, type KeySource, RETRY_MS, type SourceParts } from './key-source.ts';
import { publicKeyIn } from './pem-key.ts';
import type { TokenHeader } from './token-text.ts';

/** A part of a path, and nothing that leads elsewhere. */
const NAME = /^[\da-zA-Z-]{1,64}$/;
const KEYS_MAX = 32;
const BOUNDS = { bytesMax: 16 * 1024, timeoutMs: 5_000 } as const;

type Answer = { readonly kind: 'key'; readonly key: KeyObject } | { readonly kind: 'none' | 'unknown' };

export class KeysByName implements KeySource {
  readonly algorithms: readonly string[] = ['ES256'];
  readonly version = 0;
  readonly #base: string;
  readonly #parts: SourceParts;
  /** The oldest first. */
  readonly #known = new Map<string, KeyObject>();
  #reading: { readonly name: string; readonly answer: Promise<Answer> } | undefined;
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
    const reading = this.#reading;
    if (reading !== undefined && reading.name !== kid) {
      await reading.answer;
      return this.find({ alg: 'ES256', kid, others: {} });
    }
    const answer = await (reading?.answer ?? this.#read(kid));
    if (answer.kind === 'unknown') throw cannotTell();
    return answer.kind === 'key' ? answer.key : undefined;
  }

  #read(name: string): Promise<Answer> {
    if (this.#parts.monotonicMs() - this.#failedAtMs < RETRY_MS) return Promise.resolve({ kind: 'unknown' });
    const answer = this.#readOnce(name).finally(() => {
      this.#reading = undefined;
    });
    this.#reading = { name, answer };
    return answer;
  }

  /** Never rejects. */
  async #readOnce(name: string): Promise<Answer> {
    const url = `${this.#base}/${name}`;
    try {
      const key = publicKeyIn(await boundedGet(new URL(url), BOUNDS));
      if (key === undefined) throw new Error('its answer is no public key as PEM');
      for (const [oldest] of this.#known) {
        if (this.#known.size < KEYS_MAX) break;
        this.#known.delete(oldest);
      }
      this.#known.set(name, key);
      this.#parts.onRead(url);
      return { kind: 'key', key };
    } catch (failure) {
      this.#failedAtMs = this.#parts.monotonicMs();
      this.#parts.onRead(url, failure instanceof Error ? failure.message : String(failure));
      return { kind: failure instanceof NothingThere ? 'none' : 'unknown' };
    }
  }
}

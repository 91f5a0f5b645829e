/**
 * The keys of an identity provider: a JSON Web Key Set at a URL, which is given or found by OpenID discovery.
 *
 * ```
 *   age of the set     what is done with it
 *   to 5 minutes       it counts
 *   to 1 hour          it counts, and is read again meanwhile
 *   beyond             it does not count: whoever asks waits for another, or is told that nobody can tell
 * ```
 * A token that names a key which is not there has the set read again, at most once in ten seconds, whatever is sent.
 * While the provider does not answer, nothing is asked of it for two seconds after each attempt.
 */
import { boundedGet } from './bounded-get.ts';
import type { KeySet, VerificationKey } from './jose.ts';
import { ASYMMETRIC, cannotTell, type KeySource, RETRY_MS, type SourceParts } from './key-source.ts';
import { isObject, type TokenHeader } from './token-text.ts';

/** Exactly one of the two. */
export type KeysPlace =
  | { readonly kind: 'keys'; readonly url: URL }
  /** By what it says of itself at `/.well-known/openid-configuration`. */
  | { readonly kind: 'issuer'; readonly issuer: string };

const FRESH_MS = 5 * 60_000;
const KEPT_MS = 60 * 60_000;
const COOLDOWN_MS = 10_000;
const BOUNDS = { bytesMax: 256 * 1024, timeoutMs: 5_000 } as const;

interface Known {
  readonly keys: KeySet;
  readonly text: string;
  readonly readAtMs: number;
}

export class RemoteKeys implements KeySource {
  readonly algorithms: readonly string[] = ASYMMETRIC;
  readonly #place: KeysPlace;
  readonly #parts: SourceParts;
  #known: Known | undefined;
  #reading: Promise<void> | undefined;
  /** Of the last attempt, unless there was none. */
  #tried: { readonly atMs: number; readonly failed: boolean } | undefined;
  #version = 0;

  constructor(place: KeysPlace, parts: SourceParts) {
    this.#place = place;
    this.#parts = parts;
  }

  /** Also the time at which a set that has aged is read again: what was verified once is not looked up any more. */
  get version(): number {
    if (this.#ageMs() > FRESH_MS && this.#mayTry()) void this.#read();
    return this.#ageMs() > KEPT_MS ? this.#version + 1 : this.#version;
  }

  async find(header: TokenHeader): Promise<VerificationKey | undefined> {
    if (this.#ageMs() > KEPT_MS) await this.#tryAgain();
    else if (this.#ageMs() > FRESH_MS && this.#mayTry()) void this.#read();
    const key = await this.#usable().keys.find(header);
    if (key !== undefined) return key;
    if (this.#mayTry()) await this.#read();
    else await this.#reading;
    if (this.#tried?.failed === true) throw cannotTell();
    return this.#usable().keys.find(header);
  }

  #ageMs(): number {
    return this.#known === undefined ? Number.POSITIVE_INFINITY : this.#parts.monotonicMs() - this.#known.readAtMs;
  }

  #usable(): Known {
    if (this.#known === undefined || this.#ageMs() > KEPT_MS) throw cannotTell();
    return this.#known;
  }

  #mayTry(): boolean {
    if (this.#reading !== undefined) return false;
    if (this.#tried === undefined) return true;
    return this.#parts.monotonicMs() - this.#tried.atMs >= (this.#tried.failed ? RETRY_MS : COOLDOWN_MS);
  }

  async #tryAgain(): Promise<void> {
    if (this.#reading !== undefined) return this.#reading;
    if (this.#mayTry()) await this.#read();
  }

  /** One at a time, for everybody who waits. Never rejects. */
  #read(): Promise<void> {
    this.#reading ??= this.#readOnce().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readOnce(): Promise<void> {
    const beganMs = this.#parts.monotonicMs();
    const url = this.#place.kind === 'keys' ? this.#place.url : configurationOf(this.#place.issuer);
    try {
      const keysUrl = this.#place.kind === 'keys' ? url : await discovered(url, this.#place.issuer);
      const text = await boundedGet(keysUrl, BOUNDS);
      const { keySetOf } = await import('./jose.ts');
      const keys = keySetOf(text);
      if (text !== this.#known?.text) this.#version++;
      this.#known = { keys, text, readAtMs: beganMs };
      this.#tried = { atMs: this.#parts.monotonicMs(), failed: false };
      this.#parts.onRead(url.href);
    } catch (failure) {
      this.#tried = { atMs: this.#parts.monotonicMs(), failed: true };
      this.#parts.onRead(url.href, failure instanceof Error ? failure.message : String(failure));
    }
  }
}

function configurationOf(issuer: string): URL {
  return new URL(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
}

/** @throws Error when it does not say where its keys are, or is not about this issuer. */
async function discovered(url: URL, issuer: string): Promise<URL> {
  const configuration: unknown = JSON.parse(await boundedGet(url, BOUNDS));
  if (!isObject(configuration)) throw new Error('its configuration is no JSON object');
  if (configuration['issuer'] !== issuer) throw new Error('its configuration is of another issuer');
  const place = configuration['jwks_uri'];
  const keys = typeof place === 'string' ? URL.parse(place) : undefined;
  if (keys === null || keys === undefined) throw new Error('its configuration has no jwks_uri that is a URL');
  // Whoever is asked over TLS must not have the keys asked for without.
  const allowed = url.protocol === 'https:' ? ['https:'] : ['https:', 'http:'];
  if (!allowed.includes(keys.protocol)) throw new Error(`its jwks_uri is of ${keys.protocol}, which is not asked`);
  return keys;
}

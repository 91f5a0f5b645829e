/**
 * Keys of an identity provider: a JSON Web Key Set at a URL that is configured or found by OpenID discovery.
 *
 * ```
 *   age of the set     use
 *   to 5 minutes       it is used
 *   to 1 hour          it is used, and read again in the background
 *   beyond             it is invalid: callers wait for a new set, or fail as unavailable
 * ```
 * A token that names an unknown key causes the set to be read again, at most once in ten seconds. After a failed
 * attempt the provider is not contacted for two seconds.
 */
import { messageOf } from '#base';
import { boundedGet } from './bounded-get.ts';
import type { KeySet, VerificationKey } from './jose.ts';
import { ASYMMETRIC, cannotTell, type KeySource, RETRY_MS, type SourceParts } from './key-source.ts';
import { isObject, type TokenHeader } from './token-text.ts';

/** Exactly one of the two. */
export type KeysPlace =
  | { readonly kind: 'keys'; readonly url: URL }
  /** Found by its document `/.well-known/openid-configuration`. */
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
  /** Time and result of the last attempt. */
  #tried: { readonly atMs: number; readonly failed: boolean } | undefined;
  #version = 0;

  constructor(place: KeysPlace, parts: SourceParts) {
    this.#place = place;
    this.#parts = parts;
  }

  /** Also refreshes a set that has aged, because verified tokens are not looked up any more. */
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

  /** One read at a time, shared by all callers. Never rejects. */
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
      this.#parts.onRead(url.href, messageOf(failure));
    }
  }
}

function configurationOf(issuer: string): URL {
  return new URL(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
}

/** @throws Error when the document does not name the keys, or is about another issuer. */
async function discovered(url: URL, issuer: string): Promise<URL> {
  const configuration: unknown = JSON.parse(await boundedGet(url, BOUNDS));
  if (!isObject(configuration)) throw new Error('its configuration is no JSON object');
  if (configuration['issuer'] !== issuer) throw new Error('its configuration is of another issuer');
  const place = configuration['jwks_uri'];
  const keys = typeof place === 'string' ? URL.parse(place) : undefined;
  if (keys === null || keys === undefined) throw new Error('its configuration has no jwks_uri that is a URL');
  // A provider that is contacted over TLS must not redirect the key request to plain HTTP.
  const allowed = url.protocol === 'https:' ? ['https:'] : ['https:', 'http:'];
  if (!allowed.includes(keys.protocol)) throw new Error(`its jwks_uri is of ${keys.protocol}, which is not asked`);
  return keys;
}

/**
 * Decides whether a token of an identity provider is valid, and identifies its principal. A verified token is not
 * verified again until it expires or the provider has other keys.
 */
import { hash } from 'node:crypto';
import { keep } from '../bounded-map.ts';
import type { Found, Principal } from '../extractor.ts';
import type { KeySource } from './key-source.ts';
import { type Claims, readTokenText, type TokenHeader, type TokenText } from './token-text.ts';

/** Tolerance for clocks of issuers. */
const LEEWAY_SECONDS = 10;
const VERIFIED_MAX = 10_000;
const MS_PER_SECOND = 1_000;

export interface TokenRules {
  readonly keys: KeySource;
  /** Undefined: not checked, because something else determines issuer and audience. */
  readonly issuer: string | undefined;
  readonly audiences: readonly string[] | undefined;
  /** Returns a further fault in the header of the token. */
  readonly faultIn?: (header: TokenHeader) => string | undefined;
  /** Returns the expiry in seconds, which a token must have. */
  readonly expiryOf: (text: TokenText) => unknown;
  readonly identify: (claims: Claims) => Identity | { readonly kind: 'refused'; readonly why: string };
  readonly nowMs: () => number;
}

export type Identity = { readonly kind: 'identity' } & Pick<Principal, 'id' | 'name' | 'attributes' | 'grants'>;

interface Judged {
  readonly principal: Principal;
  /** Version of the keys before the signing key was found. */
  readonly version: number;
}

export class TokenJudge {
  readonly #rules: TokenRules;
  /** Verified tokens by SHA-256, the oldest first. */
  readonly #verified = new Map<string, Judged>();

  constructor(rules: TokenRules) {
    this.#rules = rules;
  }

  /** Synchronous when the token was verified before or cannot be valid. `header`: the request header with the token. */
  judge(token: string, header: { readonly name: string; readonly value: string }): Found | Promise<Found> {
    const place = hash('sha256', token, 'base64');
    const known = this.#verified.get(place);
    if (known !== undefined) {
      if (known.version === this.#rules.keys.version && known.principal.holds()) {
        return { kind: 'principal', principal: known.principal };
      }
      this.#verified.delete(place);
    }
    const text = readTokenText(token);
    if (text === undefined) return { kind: 'refused', why: `what was sent as ${header.name} is no token` };
    const fault = this.#faultIn(text);
    if (fault !== undefined) return { kind: 'refused', why: fault };
    const proof = { [header.name]: header.value };
    return this.#verify(token, text, { place, proof: () => proof });
  }

  /** Checks that need neither a key nor a signature. */
  #faultIn(text: TokenText): string | undefined {
    const { keys, issuer, expiryOf, faultIn, nowMs } = this.#rules;
    const { header, claims } = text;
    if (!keys.algorithms.includes(header.alg)) return 'a token is signed by an algorithm that is not taken';
    if (issuer !== undefined && claims['iss'] !== issuer) return 'a token is of another issuer';
    const expiry = expiryOf(text);
    if (typeof expiry !== 'number') return 'a token has no expiry';
    if (endOf(expiry) <= nowMs()) return 'a token has expired';
    return faultIn?.(header);
  }

  async #verify(
    token: string,
    text: TokenText,
    { place, proof }: { readonly place: string; readonly proof: Principal['proof'] },
  ): Promise<Found> {
    const { keys, issuer, audiences, identify, expiryOf, nowMs } = this.#rules;
    const { algorithms, version } = keys;
    const key = await keys.find(text.header);
    if (key === undefined)
      return { kind: 'refused', why: 'a token is signed with a key that its issuer does not have' };
    const { verified } = await import('./jose.ts');
    const rules = { algorithms, issuer, audiences, leewaySeconds: LEEWAY_SECONDS, nowMs: nowMs() };
    const verdict = await verified(token, key, rules);
    if (verdict.kind === 'refused') return { kind: 'refused', why: `a token is not valid: ${verdict.why}` };
    const identity = identify(verdict.claims);
    if (identity.kind === 'refused') return identity;
    const { id, name, attributes, grants } = identity;
    const endsAtMs = endOf(Number(expiryOf(text)));
    const principal = { id, name, attributes, grants, expiresAtMs: endsAtMs, holds: () => nowMs() < endsAtMs, proof };
    keep(this.#verified, place, { principal, version }, VERIFIED_MAX);
    return { kind: 'principal', principal };
  }
}

function endOf(expirySeconds: number): number {
  return (expirySeconds + LEEWAY_SECONDS) * MS_PER_SECOND;
}

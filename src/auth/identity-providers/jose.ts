/** The only file that uses `jose`: keys of providers, and signatures of tokens. It is loaded with the first token. */
import { type CryptoKey, createLocalJWKSet, errors, type JSONWebKeySet, jwtVerify, type KeyObject } from 'jose';
import { type Claims, isObject, type TokenHeader } from './token-text.ts';

export type VerificationKey = CryptoKey | KeyObject;

export interface SignatureRules {
  readonly algorithms: readonly string[];
  readonly issuer: string | undefined;
  readonly audiences: readonly string[] | undefined;
  readonly leewaySeconds: number;
  readonly nowMs: number;
}

export type Verified =
  | { readonly kind: 'verified'; readonly claims: Claims }
  | { readonly kind: 'refused'; readonly why: string };

/** Verifies signature, issuer, audience and times of a token. */
export async function verified(
  token: string,
  key: VerificationKey,
  { algorithms, issuer, audiences, leewaySeconds, nowMs }: SignatureRules,
): Promise<Verified> {
  try {
    const { payload } = await jwtVerify(token, key, {
      algorithms: [...algorithms],
      clockTolerance: leewaySeconds,
      currentDate: new Date(nowMs),
      ...(issuer !== undefined && { issuer }),
      ...(audiences !== undefined && { audience: [...audiences] }),
    });
    return { kind: 'verified', claims: payload };
  } catch (failure) {
    return { kind: 'refused', why: reasonIn(failure) };
  }
}

/** The keys of a JSON Web Key Set (RFC 7517). */
export interface KeySet {
  /** Undefined when no key, or more than one, matches the header. */
  find(header: TokenHeader): Promise<VerificationKey | undefined>;
}

/** @throws Error when the text is not a valid key set, or contains a key that is not public. */
export function keySetOf(text: string): KeySet {
  const set: unknown = JSON.parse(text);
  if (!isKeySet(set)) throw new Error('its answer is no set of keys');
  const keys = createLocalJWKSet(set);
  return {
    find: async ({ alg, kid }) => {
      try {
        return await keys({ alg, ...(kid !== undefined && { kid }) });
      } catch (failure) {
        reasonIn(failure);
        return undefined;
      }
    },
  };
}

function isKeySet(value: unknown): value is JSONWebKeySet {
  return isObject(value) && Array.isArray(value['keys']);
}

/** @throws errors that are not verdicts of jose about its input */
function reasonIn(failure: unknown): string {
  // A key that does not fit the algorithm causes a TypeError; one that cannot be imported, a DOMException.
  if (failure instanceof errors.JOSEError || failure instanceof TypeError || failure instanceof DOMException) {
    return failure.message;
  }
  throw failure;
}

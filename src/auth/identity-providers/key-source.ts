/** Source of the keys that verify tokens. */
import { DatabaseError } from '#base';
import type { VerificationKey } from './jose.ts';
import type { TokenHeader } from './token-text.ts';

export interface KeySource {
  /** Accepted signature algorithms; tokens with others are refused at once. */
  readonly algorithms: readonly string[];
  /** Changes when a key that was found before may no longer be valid. */
  readonly version: number;
  /**
   * Undefined when there is no key for the token.
   * @throws DatabaseError unavailable when that cannot be determined now
   */
  find(header: TokenHeader): Promise<VerificationKey | undefined>;
}

/** Asymmetric algorithms only, so that a verifier cannot sign. */
export const ASYMMETRIC: readonly string[] = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];

export interface SourceParts {
  readonly monotonicMs: () => number;
  /** Called for each attempt to read keys, with the reason of a failure. */
  readonly onRead: (url: string, failure?: string) => void;
}

/** Minimum time between two attempts at a provider that does not answer. */
export const RETRY_MS = 2_000;

/** The token may be valid, so the answer is not 401, which would make the client request another token. */
export function cannotTell(): DatabaseError {
  const message = 'The identity provider does not answer, so the credential cannot be verified';
  const details = { reason: 'IdentityProviderUnavailable', retryAfterMs: RETRY_MS };
  return new DatabaseError('unavailable', message, { details });
}

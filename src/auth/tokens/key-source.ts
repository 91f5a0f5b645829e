/** Where the keys are found that tokens are signed with. */
import { DatabaseError } from '#base';
import type { VerificationKey } from './jose.ts';
import type { TokenHeader } from './token-text.ts';

export interface KeySource {
  /** What a token may be signed by; others are refused without a look at it. */
  readonly algorithms: readonly string[];
  /** Another one as soon as a key that was found before may not count any more. */
  readonly version: number;
  /**
   * Undefined: there is none for such a token.
   * @throws DatabaseError unavailable when that cannot be found out now
   */
  find(header: TokenHeader): Promise<VerificationKey | undefined>;
}

/** All with two keys, of which nobody who verifies has the one that signs. */
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
  /** Told of each attempt to read keys; `failure` says why it was in vain. */
  readonly onRead: (url: string, failure?: string) => void;
}

/** Between two attempts at whoever does not answer. */
export const RETRY_MS = 2_000;

/** What was sent may be valid: another answer than 401, which would have its sender get another token. */
export function cannotTell(): DatabaseError {
  const message = 'The identity provider does not answer, so that nobody can tell whether the credential is valid';
  const details = { reason: 'IdentityProviderUnavailable', retryAfterMs: RETRY_MS };
  return new DatabaseError('unavailable', message, { details });
}

/** Identifies a principal by a bearer token of an OpenID provider; token-judge.ts decides whether it is valid. */
import type { Extractor, Found } from '../extractor.ts';
import { sentSecret } from '../key-extractor.ts';
import { type IdentityRules, identityIn } from './identity.ts';
import type { KeySource } from './key-source.ts';
import { TokenJudge } from './token-judge.ts';
import { isTokenShaped } from './token-text.ts';

export interface OidcParts {
  readonly keys: KeySource;
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly roles: Omit<IdentityRules, 'prefix'>;
  readonly nowMs: () => number;
}

const NOTHING: Found = { kind: 'nothing' };

export function oidcExtractor({ keys, issuer, audiences, roles, nowMs }: OidcParts): Extractor {
  const judge = new TokenJudge({
    keys,
    issuer,
    audiences,
    expiryOf: ({ claims }) => claims['exp'],
    identify: (claims) => identityIn(claims, { ...roles, prefix: 'oidc' }),
    nowMs,
  });
  return {
    inputs: ['Authorization'],
    extract: (credentials) => {
      const sent = sentSecret(credentials);
      if (sent === undefined || sent.header !== 'authorization' || !isTokenShaped(sent.text)) return NOTHING;
      return judge.judge(sent.text, { name: 'authorization', value: `Bearer ${sent.text}` });
    },
  };
}

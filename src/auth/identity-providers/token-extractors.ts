/**
 * Extractors for tokens of identity providers: bearer tokens of an OpenID provider, and tokens that AWS load balancers
 * or other proxies add in a header. token-judge.ts decides whether a token is valid.
 */
import { type Extractor, NOTHING } from '../extractor.ts';
import { sentSecret } from '../key-extractor.ts';
import { type IdentityRules, identityIn } from './identity.ts';
import type { KeySource } from './key-source.ts';
import { TokenJudge, type TokenRules } from './token-judge.ts';
import { isTokenShaped } from './token-text.ts';

interface TokenParts {
  readonly keys: KeySource;
  readonly roles: Omit<IdentityRules, 'prefix'>;
  readonly nowMs: () => number;
}

interface LoadBalancerParts extends TokenParts {
  /**
   * ARNs of the load balancers. The keys of an AWS region are shared by all customers, so only the ARN identifies the
   * signer.
   */
  readonly signers: readonly string[];
}

interface OidcParts extends TokenParts {
  readonly issuer: string;
  readonly audiences: readonly string[];
}

interface SignedHeaderParts extends OidcParts {
  /** Header in its usual spelling. */
  readonly header: string;
}

export function oidcExtractor(parts: OidcParts): Extractor {
  const judge = new TokenJudge(rulesOf(parts, 'oidc'));
  return {
    inputs: ['Authorization'],
    extract: (credentials) => {
      const sent = sentSecret(credentials);
      if (sent === undefined || sent.header !== 'authorization' || !isTokenShaped(sent.text)) return NOTHING;
      return judge.judge(sent.text, { name: 'authorization', value: `Bearer ${sent.text}` });
    },
  };
}

export function signedHeaderExtractor(parts: SignedHeaderParts): Extractor {
  return headerExtractor(parts.header, rulesOf(parts, 'proxy'));
}

/** Extractor for the users that an AWS Application Load Balancer has authenticated. */
export function loadBalancerExtractor({ signers, ...parts }: LoadBalancerParts): Extractor {
  return headerExtractor('X-Amzn-OIDC-Data', {
    // The issuer is that of the provider behind the load balancer, which checks it.
    ...rulesOf({ ...parts, issuer: undefined, audiences: undefined }, 'alb'),
    faultIn: ({ others: { signer } }) =>
      typeof signer === 'string' && signers.includes(signer) ? undefined : 'a token is of another load balancer',
    expiryOf: ({ header }) => header.others['exp'],
  });
}

function rulesOf(
  { keys, issuer, audiences, roles, nowMs }: TokenParts & Pick<TokenRules, 'issuer' | 'audiences'>,
  prefix: string,
): TokenRules {
  return {
    keys,
    issuer,
    audiences,
    expiryOf: ({ claims }) => claims['exp'],
    identify: (claims) => identityIn(claims, { ...roles, prefix }),
    nowMs,
  };
}

function headerExtractor(header: string, rules: TokenRules): Extractor {
  const judge = new TokenJudge(rules);
  const name = header.toLowerCase();
  return {
    inputs: [header],
    extract: (credentials) => {
      const [token] = credentials.values(name);
      return token === undefined ? NOTHING : judge.judge(token, { name, value: token });
    },
  };
}

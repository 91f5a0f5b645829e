/** Tokens that a proxy adds in a header: AWS load balancers, and other proxies that sign a header. */
import type { Extractor, Found } from '../extractor.ts';
import { type IdentityRules, identityIn } from './identity.ts';
import type { KeySource } from './key-source.ts';
import { TokenJudge, type TokenRules } from './token-judge.ts';

interface HeaderParts {
  readonly keys: KeySource;
  readonly roles: Omit<IdentityRules, 'prefix'>;
  readonly nowMs: () => number;
}

export interface LoadBalancerParts extends HeaderParts {
  /**
   * ARNs of the load balancers. The keys of an AWS region are shared by all customers, so only the ARN identifies the
   * signer.
   */
  readonly signers: readonly string[];
}

export interface SignedHeaderParts extends HeaderParts {
  /** Header in its usual spelling. */
  readonly header: string;
  readonly issuer: string;
  readonly audiences: readonly string[];
}

const NOTHING: Found = { kind: 'nothing' };

/** Extractor for the users that an AWS Application Load Balancer has authenticated. */
export function loadBalancerExtractor({ keys, roles, nowMs, signers }: LoadBalancerParts): Extractor {
  return headerExtractor('X-Amzn-OIDC-Data', {
    keys,
    // The issuer is that of the provider behind the load balancer, which checks it.
    issuer: undefined,
    audiences: undefined,
    faultIn: ({ others: { signer } }) =>
      typeof signer === 'string' && signers.includes(signer) ? undefined : 'a token is of another load balancer',
    expiryOf: ({ header }) => header.others['exp'],
    identify: (claims) => identityIn(claims, { ...roles, prefix: 'alb' }),
    nowMs,
  });
}

export function signedHeaderExtractor(parts: SignedHeaderParts): Extractor {
  const { header, keys, issuer, audiences, roles, nowMs } = parts;
  return headerExtractor(header, {
    keys,
    issuer,
    audiences,
    expiryOf: ({ claims }) => claims['exp'],
    identify: (claims) => identityIn(claims, { ...roles, prefix: 'proxy' }),
    nowMs,
  });
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

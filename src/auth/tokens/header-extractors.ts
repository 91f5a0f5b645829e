/** Tokens that a proxy in front of this node has made, in a header of their own: of AWS, and of whoever signs such. */
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
  /** ARNs of load balancers: keys of a region are those of all customers, so that this alone says whose token it is. */
  readonly signers: readonly string[];
}

export interface SignedHeaderParts extends HeaderParts {
  /** As it is usually spelled. */
  readonly header: string;
  readonly issuer: string;
  readonly audiences: readonly string[];
}

const NOTHING: Found = { kind: 'nothing' };

/** What an Application Load Balancer of AWS says of whom it has logged in. */
export function loadBalancerExtractor({ keys, roles, nowMs, signers }: LoadBalancerParts): Extractor {
  return headerExtractor('X-Amzn-OIDC-Data', {
    keys,
    // That of the provider that the load balancer asks, which is its business.
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

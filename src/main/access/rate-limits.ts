/** Rate limits of clients, from the settings. */
import { createHmac, randomBytes } from 'node:crypto';
import type { BootstrapKey } from '#auth';
import { wallClock } from '#cluster';
import type { Metrics } from '#observability';
import { RateLimiter } from '#service';
import type { RateLimits } from '#transport';
import type { Config } from '../settings/settings.ts';

const PROOF_BYTES = 32;
/** Label for deriving a value from the key; the value reveals nothing of the key. */
const PURPOSE = 'cairn: a request that another node of the cluster has counted';

interface RateLimitsParts {
  readonly transport: { readonly RateLimits: typeof RateLimits };
  readonly metrics: Metrics;
  /** A secret that all nodes share, if there is one. */
  readonly bootstrap: BootstrapKey | undefined;
}

/** Undefined without a rate limit. */
export function rateLimitsOf(
  { rateLimitPerSecond: perSecond, rateLimitBurst }: Config,
  { transport, metrics, bootstrap }: RateLimitsParts,
): RateLimits | undefined {
  if (perSecond === 'off') return undefined;
  const burst = rateLimitBurst === 'auto' ? perSecond : rateLimitBurst;
  return new transport.RateLimits({
    limiter: new RateLimiter({ perSecond, burst, clock: wallClock }),
    metrics,
    ownProof: randomBytes(PROOF_BYTES).toString('hex'),
    // It is derived from the key in use alone: a replaced key may have leaked, and must not exempt from the limit.
    clusterProof: () => bootstrap && createHmac('sha256', bootstrap()).update(PURPOSE).digest('hex'),
  });
}

// Goal: a request counts once, for its principal or address (TM7). Method: the limits alone; test/spec/rate-limits has
// every protocol.
import { expect, it, test } from 'vitest';
import type { Principal } from '#auth';
import { createMetrics } from '#observability';
import { RateLimiter } from '#service';
import { COUNTED, countedHeader, networkOf, RateLimits } from '../../../src/transport/rate-limits.ts';

const NOW_MS = 1_700_000_000_400;
const OWN = 'o'.repeat(64);
const CLUSTER = 'c'.repeat(64);

function limitsOf(clusterProof?: string): { limits: RateLimits; scrape: () => Promise<string> } {
  const metrics = createMetrics({ runtime: false });
  const limiter = new RateLimiter({ perSecond: 2, burst: 3, clock: { nowMs: () => NOW_MS }, bucketsMax: 2 });
  const limits = new RateLimits({ limiter, metrics, ownProof: OWN, clusterProof: () => clusterProof });
  return { limits, scrape: async () => (await metrics.render()).body };
}

function principal(id: string, issuer?: string): Principal {
  return { id, issuer, name: id, attributes: new Map(), grants: [], holds: () => true, proof: () => ({}) };
}

it('SPEC-LIMITS-RATE a token counts for its issuer, so that more tokens give no more requests', () => {
  const { limits } = limitsOf();
  const left = (who: Principal): string | undefined =>
    limits.count({ principal: who, address: undefined }, 'http').headers['x-ratelimit-remaining'];
  expect([left(principal('token:2', 'key:1')), left(principal('token:3', 'key:1'))]).toEqual(['2', '1']);
  expect(left(principal('key:1'))).toBe('0');
});

it('SPEC-LIMITS-RATE a request with a proof of this process or of its cluster was counted already, and no other', () => {
  const { limits } = limitsOf(CLUSTER);
  expect([OWN, CLUSTER].map((proof) => limits.isCounted(proof))).toEqual([true, true]);
  for (const proof of [undefined, '', 'o', `${OWN}o`, `${OWN}, ${OWN}`, OWN.toUpperCase()]) {
    expect(limits.isCounted(proof)).toBe(false);
  }
  expect(limitsOf().limits.isCounted(CLUSTER)).toBe(false);
});

it('SPEC-LIMITS-RATE the proof of the process is not sent to other nodes', () => {
  expect(countedHeader(limitsOf(CLUSTER).limits)).toEqual({ [COUNTED]: CLUSTER });
  expect(countedHeader(limitsOf().limits)).toEqual({});
  expect(countedHeader(undefined)).toEqual({});
});

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::1', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2::', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:db8:0:0:1::192.0.2.1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  [undefined, 'unknown'],
])('the client at %s counts as %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});

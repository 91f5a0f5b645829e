// Goal: the front trusts its catalog for a time that starts with its request, requests a confirmation once for all that
// wait, and explains a missing answer (C21). Method: a clock and a leader under control of the test.
import { describe, expect, it } from 'vitest';
import { DatabaseError } from '#base';
import { LIMITS } from '#cluster';
import { CatalogLease } from '../../../../src/cluster/catalog/catalog-lease.ts';
import { CATALOG_TITLE, draining, noLeader } from '../../../../src/cluster/refusals.ts';

const limits = { leaseMs: 8000, leaseRenewMs: 1000 };

class Catalog {
  nowMs = 500;
  readonly lease: CatalogLease;
  readonly questions: { readonly answer: () => void; readonly fail: (failure: Error) => void }[] = [];

  constructor() {
    const ask = (): Promise<void> => {
      const askedMs = this.nowMs;
      return new Promise((resolve, reject) => {
        const answer = (): void => {
          this.lease.confirmed(askedMs);
          resolve();
        };
        this.questions.push({ answer, fail: reject });
      });
    };
    this.lease = new CatalogLease({ limits, ask, monotonicMs: () => this.nowMs });
  }

  async hold(): Promise<void> {
    const taken = this.lease.take();
    this.questions.at(-1)?.answer();
    await taken;
  }
}

const outcomeOf = async (taken: Promise<void> | undefined): Promise<unknown> =>
  taken?.then(
    () => 'held',
    (failure: unknown) => failure,
  );

describe('the lease of the catalog (C21)', () => {
  it('is acquired by one request for all that wait', async () => {
    const catalog = new Catalog();
    const taken = [catalog.lease.take(), catalog.lease.take()].map(outcomeOf);
    expect(catalog.questions).toHaveLength(1);
    catalog.questions[0]?.answer();
    expect(await Promise.all(taken)).toEqual(['held', 'held']);
    expect(catalog.lease.take()).toBeUndefined();
  });

  it('is renewed by a use that does not wait, once it has a certain age, and not without a use', async () => {
    const catalog = new Catalog();
    await catalog.hold();
    catalog.nowMs += 999;
    expect(catalog.lease.take()).toBeUndefined();
    expect(catalog.questions).toHaveLength(1);
    catalog.nowMs += 1;
    expect([catalog.lease.take(), catalog.lease.take()]).toEqual([undefined, undefined]);
    expect(catalog.questions).toHaveLength(2);
  });

  it('starts with its request, not with the answer', async () => {
    const catalog = new Catalog();
    const taken = outcomeOf(catalog.lease.take());
    catalog.nowMs += 3000;
    catalog.questions[0]?.answer();
    expect(await taken).toBe('held');
    catalog.nowMs += 4999;
    expect(catalog.lease.take()).toBeUndefined();
    catalog.nowMs += 1;
    expect(catalog.lease.take()).toBeInstanceOf(Promise);
  });

  it('is requested again when the answer was too late', async () => {
    const catalog = new Catalog();
    const taken = outcomeOf(catalog.lease.take());
    catalog.nowMs += 8000;
    catalog.questions[0]?.answer();
    await expect.poll(() => catalog.questions.length).toBe(2);
    catalog.questions[1]?.answer();
    expect(await taken).toBe('held');
  });

  it('is not acquired when every answer is too late', async () => {
    const catalog = new Catalog();
    const taken = outcomeOf(catalog.lease.take());
    for (const asked of [1, 2, 3]) {
      await expect.poll(() => catalog.questions.length).toBe(asked);
      catalog.nowMs += 8000;
      catalog.questions[asked - 1]?.answer();
    }
    expect(await taken).toMatchObject({ message: expect.stringContaining('It is overloaded') });
    expect(catalog.questions.length).toBe(3);
  });

  it('fails with other errors of the node', async () => {
    const catalog = new Catalog();
    const taken = outcomeOf(catalog.lease.take());
    catalog.questions[0]?.fail(draining());
    expect(await taken).toBeInstanceOf(DatabaseError);
    expect(await taken).toMatchObject({ details: { reason: 'Draining' } });
  });

  it('is not shortened by an answer to an earlier request', async () => {
    const catalog = new Catalog();
    catalog.nowMs = 5000;
    await catalog.hold();
    catalog.lease.confirmed(1000);
    catalog.nowMs = 12_999;
    expect(catalog.lease.take()).toBeUndefined();
  });

  it('is refused with the time since the last confirmation, and advice', async () => {
    const catalog = new Catalog();
    const first = outcomeOf(catalog.lease.take());
    catalog.nowMs += 5000;
    catalog.questions[0]?.fail(noLeader(CATALOG_TITLE));
    expect(await first).toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('5.0 s, since it started'),
    });
    expect(catalog.lease.isLost).toBe(true);
    await catalog.hold();
    expect(catalog.lease.isLost).toBe(false);
    catalog.nowMs += 9200;
    const second = outcomeOf(catalog.lease.take());
    catalog.questions.at(-1)?.fail(noLeader(CATALOG_TITLE));
    expect(await second).toMatchObject({ message: expect.stringMatching(/for 9\.2 s, so .* send to another node/) });
  });

  it('is not lost before it expires, for any result of the last request', async () => {
    const catalog = new Catalog();
    await catalog.hold();
    catalog.nowMs += 1000;
    expect(catalog.lease.take()).toBeUndefined();
    catalog.questions.at(-1)?.fail(noLeader(CATALOG_TITLE));
    await Promise.resolve();
    expect(catalog.lease.isLost).toBe(false);
    catalog.nowMs += 7000;
    expect(catalog.lease.isLost).toBe(true);
  });
});

it('a lease lasts longer than two elections of the leader of the catalog', () => {
  const election = LIMITS.electionWindowMs + LIMITS.electionJitterMs;
  expect(LIMITS.leaseMs).toBeGreaterThanOrEqual(2 * election + LIMITS.leaseRenewMs);
});

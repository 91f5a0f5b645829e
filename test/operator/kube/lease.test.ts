// Goal: two electors never lead at once, under any fault of their requests, clocks and event loops, and one leads
// when the server works. Method: electors with skewed clocks, seeded faults, and a check every 100 ms.
import * as fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Api, Elector, type Lease, type Term } from '../../../operator/src/kube/index.ts';
import { EVERY_FAULT } from '../../support/kube-api/faults.ts';
import { MemoryApi } from '../../support/kube-api/memory-api.ts';
import { ManualRuntime } from '../../support/manual-runtime.ts';
import { runs } from '../../support/runs.ts';

const LEASE = {
  collection: '/apis/coordination.k8s.io/v1/leases',
  namespace: 'cairn',
  name: 'operator',
  isStatus: false,
};
/** Their ratio is just below LEASE_MS / RENEW_MS. */
const [SLOWEST, FASTEST] = [0.82, 1.22];
const LOOK_MS = 100;

class Candidate {
  readonly over = new AbortController();
  readonly clock: ReturnType<ManualRuntime['skewed']>;
  readonly ended: Promise<void>;
  terms = 0;
  isWorking = false;
  /** Time for which its work runs after the end of the term. */
  lingerMs = 0;
  #term: Term | undefined;

  constructor(runtime: ManualRuntime, server: MemoryApi, { rate = 1 } = {}) {
    this.clock = runtime.skewed(rate);
    const identity = `pod-${runtime.chance.uuid()}`;
    const plan = { namespace: 'cairn', name: 'operator', identity, onError: () => undefined };
    const elector = new Elector(new Api(server, this.clock), plan);
    this.ended = elector.run((term) => this.#lead(term), this.over.signal);
    onTestFinished(() => this.over.abort());
  }

  get isLeader(): boolean {
    return this.#term?.isHeld() ?? false;
  }

  async #lead(term: Term): Promise<void> {
    this.terms += 1;
    this.#term = term;
    this.isWorking = true;
    await new Promise<void>((resolve) => {
      if (term.signal.aborted) resolve();
      else term.signal.addEventListener('abort', () => void this.clock.after(this.lingerMs, resolve));
    });
    this.isWorking = false;
  }
}

/** Starts a candidate that leads. */
async function leading() {
  const runtime = new ManualRuntime();
  const server = new MemoryApi(runtime);
  const leader = new Candidate(runtime, server);
  await runtime.advance(1_000);
  return { runtime, server, leader };
}

function leaders(candidates: readonly Candidate[]): number {
  return candidates.filter(({ isLeader }) => isLeader).length;
}

/** Maximum number of leaders at any check. */
async function watched(runtime: ManualRuntime, candidates: readonly Candidate[], ms: number): Promise<number> {
  let most = 0;
  for (let passedMs = 0; passedMs < ms; passedMs += LOOK_MS) {
    await runtime.advance(LOOK_MS);
    most = Math.max(most, leaders(candidates));
  }
  return most;
}

it('two electors never lead at once, and one leads after the faults (KM13)', async () => {
  const property = fc.asyncProperty(fc.nat(), async (seed) => {
    const runtime = new ManualRuntime(seed);
    const { chance } = runtime;
    const server = new MemoryApi(runtime, EVERY_FAULT);
    const rates = [SLOWEST, FASTEST, SLOWEST + chance.below(100) * 0.004];
    const candidates = rates.map((rate) => new Candidate(runtime, server, { rate }));
    for (let step = 0; step < 40; step += 1) {
      if (chance.chance(10)) server.restart(chance.below(30_000));
      if (chance.chance(15)) chance.pick(candidates).clock.stall(chance.below(25_000));
      expect(await watched(runtime, candidates, chance.below(10_000))).toBeLessThanOrEqual(1);
    }
    server.faults.set();
    expect(await watched(runtime, candidates, 60_000)).toBe(1);
    expect(leaders(candidates)).toBe(1);
    candidates.forEach(({ over }) => over.abort());
  });
  await fc.assert(property, { numRuns: runs(100), endOnFailure: true });
});

describe('an elector', () => {
  it('releases the lease after its work has ended, and another leads within a retry (KM14)', async () => {
    const { runtime, server, leader: first } = await leading();
    const second = new Candidate(runtime, server);
    await runtime.advance(5_000);
    expect([first.isLeader, second.isLeader]).toEqual([true, false]);
    first.lingerMs = 4_000;
    first.over.abort();
    await runtime.advance(3_900);
    expect([first.isWorking, first.isLeader, second.isLeader]).toEqual([true, false, false]);
    await runtime.advance(100);
    const { spec } = server.store.get(LEASE) as unknown as Lease;
    expect([first.isWorking, spec.holderIdentity]).toEqual([false, '']);
    await runtime.advance(2_300);
    expect(second.isLeader).toBe(true);
  });

  it('leads for 10 s after its last renewal while the server is down, and again afterwards', async () => {
    const { runtime, server, leader: first } = await leading();
    server.restart(11_500);
    expect([first.isLeader, first.terms]).toEqual([true, 1]);
    await runtime.advance(8_900);
    expect(first.isLeader).toBe(true);
    await runtime.advance(200);
    expect([first.isLeader, first.isWorking]).toEqual([false, false]);
    await runtime.advance(10_000);
    expect([first.isLeader, first.terms]).toEqual([true, 2]);
  });

  it('counts its term from before it sends a renewal, also when the response is late', async () => {
    const { runtime, server, leader: candidate } = await leading();
    server.faults.slowMs = () => 4_000;
    server.faults.set({ requests: { late: 100 }, messages: {} });
    await runtime.advance(5_500);
    server.faults.set({ requests: { refused: 100 }, messages: {} });
    await runtime.advance(5_400);
    expect(candidate.isLeader).toBe(true);
    await runtime.advance(200);
    expect(candidate.isLeader).toBe(false);
  });

  it('keeps its term when one renewal gets no response', async () => {
    const { runtime, server, leader: candidate } = await leading();
    server.faults.set({ requests: { hangs: 100 }, messages: {} });
    await runtime.advance(1_500);
    server.faults.set();
    await runtime.advance(60_000);
    expect([candidate.isLeader, candidate.terms]).toEqual([true, 1]);
  });

  it('succeeds a dead leader within 15 s and a retry', async () => {
    const runtime = new ManualRuntime();
    const server = new MemoryApi(runtime);
    const candidates = [1, 1].map((rate) => new Candidate(runtime, server, { rate }));
    await runtime.advance(5_000);
    const gone = candidates.find(({ isLeader }) => isLeader);
    gone?.clock.stall(600_000);
    expect(await watched(runtime, candidates, 17_300)).toBe(1);
    expect(candidates.filter((each) => each !== gone).map(({ isLeader }) => isLeader)).toEqual([true]);
  });

  it('does not lead after a blocked event loop, before its timers fire', async () => {
    const { runtime, leader: candidate } = await leading();
    candidate.clock.stall(20_000);
    await runtime.advance(12_000);
    expect([candidate.isLeader, candidate.isWorking]).toEqual([false, true]);
  });

  it('ends its term when the lease was deleted or is held by another', async () => {
    const { runtime, server, leader: candidate } = await leading();
    server.store.merge(LEASE, { spec: { holderIdentity: 'another', leaseDurationSeconds: 600 } }, 'another');
    await runtime.advance(2_500);
    expect([candidate.isLeader, candidate.isWorking]).toEqual([false, false]);
    // The duration in the lease exceeds that of the candidate.
    await runtime.advance(590_000);
    expect(candidate.terms).toBe(1);
    await runtime.advance(20_000);
    expect([candidate.isLeader, candidate.terms]).toEqual([true, 2]);
    server.store.delete(LEASE);
    const deletedMs = runtime.nowMs();
    while (candidate.isLeader) await runtime.advance(LOOK_MS);
    expect(runtime.nowMs() - deletedMs).toBeLessThanOrEqual(2_100);
    await runtime.advance(2_500);
    expect([candidate.isLeader, candidate.terms]).toEqual([true, 3]);
  });

  it('writes the fields of the lease, and sends one request in two seconds', async () => {
    const { runtime, server, leader: candidate } = await leading();
    const { acquireTime } = (server.store.get(LEASE) as unknown as Lease).spec;
    expect(acquireTime).toBe('2026-11-29T12:00:00.000000Z');
    await runtime.advance(600_000);
    expect(server.requests.length).toBeLessThan(305);
    const { spec } = server.store.get(LEASE) as unknown as Lease;
    expect(spec).toMatchObject({ acquireTime, leaseDurationSeconds: 15, leaseTransitions: 0 });
    expect(spec.renewTime).toMatch(/^2026-11-29T12:(09:5|10:0)\d\.\d{6}Z$/);
    candidate.over.abort();
  });
});

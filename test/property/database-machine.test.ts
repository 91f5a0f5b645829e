// Goal: the state machine decides according to the specification (D2, D4, D5), and its rows are correct at every
// revision (D3, D7), through flushes and restarts (D8). Method: random runs against the naive oracle.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MachineOptions, TransactOutcome } from '#database';
import type { Selector } from '#model';
import { expectRowsToMatch } from '../support/database-checks.ts';
import { CREATED_AT_MS, DatabaseHost } from '../support/database-host.ts';
import { DatabaseOracle, type OracleOutcome, type OracleRequest } from '../support/database-oracle.ts';
import {
  arbRequest,
  arbSelector,
  everyConjunction,
  payloadOf,
  type RequestShape,
  stampMs,
} from '../support/database-requests.ts';
import { runs } from '../support/runs.ts';

type Step =
  | {
      readonly kind: 'transact';
      readonly request: Omit<OracleRequest, 'stampedMs'>;
      readonly jitter: number;
    }
  | { readonly kind: 'begin-flush' | 'end-flush' | 'check'; readonly place: number }
  | { readonly kind: 'reopen'; readonly warm: boolean };

function arbSteps(shape: RequestShape, maxLength: number): fc.Arbitrary<readonly Step[]> {
  const transact = fc.record({
    kind: fc.constant('transact' as const),
    request: arbRequest(shape),
    jitter: fc.integer({ min: -1500, max: 300 }),
  });
  const flush = fc.record({
    kind: fc.constantFrom('begin-flush' as const, 'end-flush' as const, 'check' as const),
    place: fc.nat(1000),
  });
  const reopen = fc.record({ kind: fc.constant('reopen' as const), warm: fc.boolean() });
  const step = fc.oneof(
    { weight: 12, arbitrary: transact },
    { weight: 4, arbitrary: flush },
    { weight: 1, arbitrary: reopen },
  );
  return fc.array(step, { maxLength, minLength: 1, size: 'max' });
}

function inOracleWords(outcome: TransactOutcome): OracleOutcome {
  expect(outcome.kind).not.toBe('too-broad');
  if (outcome.kind === 'too-broad') return { kind: 'violated', found: [] };
  if (outcome.kind === 'replayed') return { kind: 'replayed', revision: outcome.revision };
  if (outcome.kind === 'violated') {
    return { kind: 'violated', found: outcome.violations.map(({ index, found }) => [index, found]) };
  }
  const renamed = outcome.storedIds.map(({ index, id }) => [index, id] as const);
  return { kind: 'committed', revision: outcome.revision, renamed };
}

interface Run {
  readonly host: DatabaseHost;
  readonly oracle: DatabaseOracle;
  /** False with a narrowed hash, because readers do not know of it. */
  readonly checksRows: boolean;
}

async function run(steps: readonly Step[], options: MachineOptions): Promise<void> {
  const host = new DatabaseHost(options);
  const state = { host, oracle: new DatabaseOracle(CREATED_AT_MS), checksRows: options.hashBits === undefined };
  for (const [place, step] of steps.entries()) await take(state, step, place);
  await host.flush();
  expect(host.storedRevision).toBe(state.oracle.revision);
  await take(state, { kind: 'check', place: state.oracle.revision }, 0);
}

async function take({ host, oracle, checksRows }: Run, step: Step, place: number): Promise<void> {
  if (step.kind === 'begin-flush') host.beginFlush();
  else if (step.kind === 'end-flush') await host.endFlush();
  else if (step.kind === 'reopen') await expectSameOutcomes(host, step.warm);
  else if (step.kind === 'transact') {
    await expectOutcome(host, oracle, { ...step.request, stampedMs: stampMs(place, step.jitter) });
  } else if (checksRows) await expectRowsToMatch(host.reader(), oracle, step.place % (host.storedRevision + 1));
}

async function expectOutcome(host: DatabaseHost, oracle: DatabaseOracle, request: OracleRequest): Promise<void> {
  const outcome = await host.apply(payloadOf(request));
  expect(inOracleWords(outcome)).toEqual(oracle.apply(request));
}

async function expectSameOutcomes(host: DatabaseHost, warm: boolean): Promise<void> {
  expect(await host.reopen(warm)).toEqual([]);
}

/** Long, because the machine may be busy with other tests. */
const TIMEOUT_MS = 60_000;

describe('DatabaseMachine', () => {
  const FEW = { variety: 0, eventsMax: 4 };
  const MANY = { variety: 60, eventsMax: 30 };

  it.each<[what: string, steps: ReturnType<typeof arbSteps>, numRuns: number, options: MachineOptions]>([
    ['whatever the flushes and restarts (D2, D3, D4, D5, D7, D8)', arbSteps(FEW, 60), 60, {}],
    ['when heads spill their tips and are soon evicted (D4, D8)', arbSteps(MANY, 30), 25, { headsKept: 3 }],
    ['when hashes of ids collide (D2)', arbSteps({ ...FEW, eventsMax: 6 }, 50), 40, { hashBits: 6 }],
  ])(
    'decides and stores as the oracle does %s',
    async (_what, steps, numRuns, options) => {
      const property = fc.asyncProperty(steps, (list) => run(list, options));
      await expect(fc.assert(property, { numRuns: runs(numRuns) })).resolves.toBeUndefined();
    },
    TIMEOUT_MS,
  );

  it(
    'finds L of every conjunction there is, and of random selectors (D4)',
    async () => {
      const input = fc.record({
        requests: fc.array(arbRequest({ variety: 4, eventsMax: 8 }), { minLength: 1, maxLength: 25, size: 'max' }),
        selectors: fc.array(arbSelector, { minLength: 20, maxLength: 40, size: 'max' }),
        headsKept: fc.constantFrom(1, 8192),
        flushed: fc.boolean(),
      });
      const property = fc.asyncProperty(input, async ({ requests, selectors, headsKept, flushed }) => {
        const host = new DatabaseHost({ headsKept });
        const oracle = new DatabaseOracle(CREATED_AT_MS);
        for (const [step, request] of requests.entries()) {
          const stamped = { ...request, constraints: [], stampedMs: stampMs(step, 0) };
          oracle.apply(stamped);
          await host.apply(payloadOf(stamped));
          if (flushed && step % 4 === 0) await host.flush();
        }
        const asked = [...everyConjunction(), ...selectors];
        expect(await latestOfAll(host, asked)).toEqual(asked.map((selector) => oracle.latest(selector)));
      });
      await expect(fc.assert(property, { numRuns: runs(30) })).resolves.toBeUndefined();
    },
    TIMEOUT_MS,
  );
});

interface TwoReplicas {
  readonly host: DatabaseHost;
  /** A replica with other flush times. */
  readonly other: DatabaseHost;
  readonly oracle: DatabaseOracle;
}

/** True when the transaction was refused as too broad; otherwise its outcome equals that of the oracle. */
async function isRefused({ host, other, oracle }: TwoReplicas, request: OracleRequest): Promise<boolean> {
  const outcome = await host.apply(payloadOf(request));
  expect(await other.apply(payloadOf(request))).toEqual(outcome);
  if (outcome.kind === 'too-broad') return true;
  expect(inOracleWords(outcome)).toEqual(oracle.apply(request));
  return false;
}

it(
  'DatabaseMachine with small prefix limits refuses constraints above them, and decides all others like the oracle (D4, D8, D13)',
  async () => {
    let refused = 0;
    const property = fc.asyncProperty(arbSteps({ variety: 8, eventsMax: 4 }, 60), arbLimits, async (list, limits) => {
      const options = { prefixLimits: limits };
      const [host, other] = [new DatabaseHost(options), new DatabaseHost(options)];
      const oracle = new DatabaseOracle(CREATED_AT_MS);
      for (const [place, step] of list.entries()) {
        if (step.kind === 'transact') {
          const request = { ...step.request, stampedMs: stampMs(place, step.jitter) };
          if (await isRefused({ host, other, oracle }, request)) refused++;
        } else if (step.kind === 'reopen') await expectSameOutcomes(host, step.warm);
        else if (step.kind === 'end-flush') await host.endFlush();
        else host.beginFlush();
      }
    });
    await expect(fc.assert(property, { numRuns: runs(60) })).resolves.toBeUndefined();
    expect(refused).toBeGreaterThan(0);
  },
  TIMEOUT_MS,
);

const arbLookBack = fc.record({ comparisons: fc.nat(4), bytes: fc.constantFrom(0, 300, 100_000) });
const arbLimits = fc.record({ near: arbLookBack, listed: arbLookBack, rows: fc.nat(12), far: arbLookBack });

/** L of each selector, as reported by a constraint that never holds. */
async function latestOfAll(host: DatabaseHost, selectors: readonly Selector[]): Promise<readonly number[]> {
  const found: number[] = [];
  for (let from = 0; from < selectors.length; from += 50) {
    const constraints = selectors
      .slice(from, from + 50)
      .map((selector) => ({ kind: 'min-revision' as const, revision: 1_000_000, selector }));
    const events = [{ id: 'x', type: 'x', source: 'x', stream: 'x' }];
    const outcome = await host.apply(payloadOf({ transactionId: 'ff'.repeat(16), stampedMs: 0, events, constraints }));
    if (outcome.kind === 'violated') found.push(...outcome.violations.map((violation) => violation.found));
  }
  return found;
}

// Goal: all replicas store the same definitions and refusals through flushes, restarts and snapshots, and make every
// row again from the history (D8, D11, D16, D23). Method: random entries on two machines; rows and histories compared.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toRevision } from '#base';
import { loadLedger, verifyHistory } from '#database';
import type { Direction } from '#model';
import { pulled, scanLogBatches } from '#query';
import { DatabaseHost, durableAt, historyFor, rebuild, takeOver } from '../support/database-host.ts';
import { arbRequest, payloadOf, stampMs } from '../support/database-requests.ts';
import { dump, sharedContent } from '../support/database-rows.ts';
import { arbDefining, SMALL_BLOBS } from '../support/definition-entries.ts';
import { runs } from '../support/runs.ts';

const TIMEOUT_MS = 60_000;
const RUNS = { numRuns: runs(30) };
const LATEST = toRevision(Number.MAX_SAFE_INTEGER);

type Step =
  | { readonly kind: 'transact'; readonly payload: Uint8Array }
  | { readonly kind: 'define'; readonly payload: Uint8Array };

/** Two of three entries define something. */
const arbSteps: fc.Arbitrary<readonly Step[]> = fc
  .array(fc.oneof(arbRequest({ variety: 40, eventsMax: 4 }), arbDefining, arbDefining), {
    minLength: 20,
    maxLength: 60,
    size: 'max',
  })
  .map((list) =>
    list.map((each, step) =>
      each instanceof Uint8Array
        ? { kind: 'define', payload: each }
        : { kind: 'transact', payload: payloadOf({ ...each, stampedMs: stampMs(step, 0) }) },
    ),
  );
const arbDice = fc.array(fc.nat(9), { minLength: 60, maxLength: 60 });

async function take(host: DatabaseHost, { kind, payload }: Step): Promise<void> {
  if (kind === 'define') host.define(payload);
  else await host.apply(payload);
}

async function hostWith(steps: readonly Step[], dice: readonly number[] = []): Promise<DatabaseHost> {
  const host = new DatabaseHost();
  for (const [place, step] of steps.entries()) {
    await take(host, step);
    if ((dice[place] ?? 0) < 3) await host.flush();
  }
  await host.flush();
  return host;
}

function listed(host: DatabaseHost): unknown {
  const ledger = loadLedger(host.reader(), host.machine.applied.definitions);
  const revisions = [0, 1, 5].map(toRevision).concat(LATEST);
  return [revisions.map((revision) => ledger.list(revision)), SMALL_BLOBS.map(({ digest }) => ledger.partsOf(digest))];
}

async function scanned({ source, machine }: DatabaseHost, direction: Direction, bytes: number): Promise<unknown> {
  const found: number[] = [];
  for await (const slice of scanLogBatches(source, { at: machine.revision, direction, pace: pulled(bytes) })) {
    found.push(...slice.map(({ revision }) => revision));
  }
  return direction === 'forward' ? found : found.toReversed();
}

describe('definitions and refusals among transactions', () => {
  it(
    'are stored identically regardless of flushes and restarts, and are the same after reopening (D8, D23)',
    async () => {
      const property = fc.asyncProperty(arbSteps, arbDice, async (steps, dice) => {
        const one = new DatabaseHost();
        const other = new DatabaseHost();
        const different: (readonly number[])[] = [];
        for (const [place, step] of steps.entries()) {
          await take(one, step);
          await take(other, step);
          const die = dice[place] ?? 0;
          if (die < 3) await one.flush();
          if (die === 3) one.beginFlush();
          if (die > 6) await other.flush();
          if (die === 8) different.push(await other.reopen(false));
        }
        await one.flush();
        await other.flush();
        expect(different.flat()).toEqual([]);
        expect(other.machine.applied).toEqual(one.machine.applied);
        expect(await sharedContent(other.kv)).toEqual(await sharedContent(one.kv));
        expect(listed(other)).toEqual(listed(one));
        const all = Array.from({ length: one.machine.revision }, (_, at) => at + 1);
        for (const bytes of [1, 300, 5000]) {
          for (const direction of ['forward', 'reverse'] as const) {
            expect(await scanned(one, direction, bytes)).toEqual(all);
          }
        }
      });
      await fc.assert(property, RUNS);
    },
    TIMEOUT_MS,
  );

  it(
    'are imported from any position, in parts of any size, each of which ends at a position in the log (D16, D23)',
    async () => {
      const sizes = fc.constantFrom(1, 300, 2000, 60_000);
      const property = fc.asyncProperty(arbSteps, arbDice, fc.nat(59), sizes, async (steps, dice, cut, bytesMax) => {
        const one = await hostWith(steps, dice);
        const other = await hostWith(steps.slice(0, cut % steps.length), dice.toReversed());
        const history = historyFor(one, other);
        await takeOver(history, other, bytesMax, async (index) => (index % 2 === 0 ? other.flush() : undefined));
        await other.flush();
        expect(await sharedContent(other.kv)).toEqual(await sharedContent(one.kv));
        expect(listed(other)).toEqual(listed(one));
      });
      await fc.assert(property, RUNS);
    },
    TIMEOUT_MS,
  );

  it(
    'are rolled back to a durable entry, and the log restores the same rows from there (D11)',
    async () => {
      const property = fc.asyncProperty(arbSteps, arbDice, fc.nat(59), async (steps, dice, cut) => {
        const host = new DatabaseHost();
        let durable = durableAt(host.machine.applied);
        let durableRows: readonly string[] = [];
        await host.flush();
        for (const [place, step] of steps.entries()) {
          await take(host, step);
          if ((dice[place] ?? 0) < 4 || place === cut % steps.length) await host.flush();
          if (place !== cut % steps.length) continue;
          durable = durableAt(host.machine.applied);
          durableRows = await dump(host.kv);
        }
        await host.flush();
        const rows = await sharedContent(host.kv);
        expect(await verifyHistory(host.source, durable)).toBeUndefined();
        for (const _ of [1, 2]) {
          await rebuild(host, durable);
          expect(await dump(host.kv)).toEqual(durableRows);
        }
        expect(await host.reopen(false)).toEqual([]);
        await host.flush();
        expect(await sharedContent(host.kv)).toEqual(rows);
      });
      await fc.assert(property, RUNS);
    },
    TIMEOUT_MS,
  );
});

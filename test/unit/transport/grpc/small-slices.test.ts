// Goal: streams of small slices progress while other connections use all unsent bytes (TM4, T4). Method: reads of small
// and large events with a full budget.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ByteBudgets, createByteBudgets } from '#transport';
import type { Hold } from '../../../../src/transport/memory-budget.ts';
import { ManualTime, until } from '../../../support/budget-time.ts';
import { type GrpcWorld, readRequest, startGrpcWorld } from '../../../support/grpc-world.ts';
import type { RawReply } from '../../../support/raw-grpc.ts';

const UNSENT_BYTES = 32 * 1024 * 1024;
const LARGE = 'x'.repeat(200_000);
const STREAMS = ['QueryEvents', 'QueryEventBatches', 'ScanDatabaseLog', 'ScanLogBatches'];
const nothing = (): void => undefined;

let at: GrpcWorld;
let budgets: ByteBudgets;
let holds: readonly Hold[];
const others = new AbortController();

beforeAll(async () => {
  budgets = createByteBudgets({ requestBytesMax: 2 ** 30, unsentBytesMax: UNSENT_BYTES, time: new ManualTime() });
  const small = { transactions: 100, eventsEach: 20 };
  at = await startGrpcWorld({ small, large: { transactions: 1, eventsEach: 1, data: LARGE } }, budgets);
  const { unsent } = budgets;
  holds = [unsent.of({}).takeAnyway(UNSENT_BYTES, nothing)];
  void unsent.of({}).take(1, nothing, others.signal).catch(nothing);
  await until(() => unsent.waiting === 1);
}, 60_000);

afterAll(() => at[Symbol.asyncDispose]());

const read = (method: string, database: string): Promise<RawReply> =>
  at.raw.call({ path: `/cairn.v1.EventStore/${method}`, pieces: [readRequest(database)] });

it.each(STREAMS)('%s of small events sends all of them while the budget is full', async (method) => {
  const { status, body } = await read(method, 'small');
  expect([status, body.toString('latin1').split('e99-19').length]).toEqual([0, 2]);
});

it('a large event waits for room in every stream', async () => {
  const waiting = budgets.unsent.waiting;
  const answers = STREAMS.map((method) => read(method, 'large'));
  await until(() => budgets.unsent.waiting === waiting + STREAMS.length);
  others.abort();
  for (const hold of holds) hold.release();
  for (const { status, body } of await Promise.all(answers)) {
    expect([status, body.length > LARGE.length]).toEqual([0, true]);
  }
  await until(() => budgets.unsent.used === 0);
});

// Goal: streams of small slices get on whatever others hold of the unsent bytes, and larger slices when there is room
// again (TM4, T4). Method: a node in one thread, all of whose budget is held, with others waiting, at a time that
// stands still.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ByteWriter, writeBytesField } from '#base';
import { silentLogger } from '#observability';
import { type ByteBudgets, createByteBudgets, startGrpcServer } from '#transport';
import type { Hold } from '../../../../src/transport/byte-budget.ts';
import { frame } from '../../../../src/transport/grpc/wire/framing.ts';
import { ManualTime, until } from '../../../support/budget-time.ts';
import { cloudEvent } from '../../../support/http-client.ts';
import { type HttpWorld, startHttpWorld } from '../../../support/http-world.ts';
import { RawGrpc } from '../../../support/raw-grpc.ts';

const UNSENT_BYTES = 32 * 1024 * 1024;
const SMALL_EVENTS = 2_000;
const SMALL_PER_TRANSACTION = 20;
const LARGE = 'x'.repeat(200_000);
const STREAMS = ['QueryEvents', 'QueryEventBatches', 'ScanDatabaseLog', 'ScanLogBatches'];
const nothing = (): void => undefined;

function requestOf(database: string): Uint8Array {
  const writer = new ByteWriter(16);
  writeBytesField(writer, 1, Buffer.from(database));
  return frame(writer.take());
}

describe('while all of the budget is held, and others wait for it', () => {
  let world: HttpWorld;
  let budgets: ByteBudgets;
  let raw: RawGrpc;
  let stop: () => Promise<void>;
  let holds: readonly Hold[];
  const others = new AbortController();

  beforeAll(async () => {
    budgets = createByteBudgets({ requestBytesMax: 2 ** 30, unsentBytesMax: UNSENT_BYTES, time: new ManualTime() });
    world = await startHttpWorld({ budgets, holdsWaits: false });
    await world.client.create('small');
    await world.client.create('large');
    for (let n = 0; n < SMALL_EVENTS / SMALL_PER_TRANSACTION; n++) {
      await commit(
        'small',
        n,
        Array.from({ length: SMALL_PER_TRANSACTION }, (_, k) => cloudEvent(`e${n}-${k}`)),
      );
    }
    await commit('large', 1_000, [cloudEvent('e', { data: LARGE })]);
    const { service, metrics } = world;
    const shared = { service, metrics, logger: silentLogger, onFatal: nothing };
    const server = await startGrpcServer({ ...shared, host: '127.0.0.1', port: 0, budgets });
    raw = new RawGrpc(server.port);
    stop = async () => {
      await raw.close();
      await server.drain(0);
      await world[Symbol.asyncDispose]();
    };
    const { unsent } = budgets;
    const common = unsent.taker({}).takeAnyway(UNSENT_BYTES, nothing);
    // Of eight connections each has its share of the reserve.
    const shares = Array.from({ length: 8 }, () => unsent.taker({}).takeNow(UNSENT_BYTES / 32, nothing));
    holds = [common, ...shares.filter((hold) => hold !== undefined)];
    void unsent.taker({}).take(1, nothing, others.signal).catch(nothing);
    await until(() => unsent.waiting === 1);
  }, 60_000);

  afterAll(() => stop());

  async function commit(database: string, n: number, events: readonly object[]): Promise<void> {
    const id = `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
    const answer = await world.client.post(`/databases/${database}/events`, { transaction_id: id, events });
    expect(answer.status).toBe(200);
  }

  it.each(STREAMS)('%s of small events gives all of them', async (method) => {
    const path = `/cairn.v1.EventStore/${method}`;
    const reply = await raw.call({ path, pieces: [requestOf('small')] });
    expect(reply.status).toBe(0);
    expect(reply.body.toString('latin1').split('e99-19').length).toBe(2);
  });

  it('a large event waits for room, whatever asks for it', async () => {
    const waiting = budgets.unsent.waiting;
    const answers = STREAMS.map((method) =>
      raw.call({ path: `/cairn.v1.EventStore/${method}`, pieces: [requestOf('large')] }),
    );
    await until(() => budgets.unsent.waiting === waiting + STREAMS.length);
    others.abort();
    for (const hold of holds) hold.release();
    for (const { status, body } of await Promise.all(answers)) {
      expect([status, body.length > LARGE.length]).toEqual([0, true]);
    }
    await until(() => budgets.unsent.used === 0);
  });
});

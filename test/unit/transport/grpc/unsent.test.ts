// Goal: unread streams stay within the budget and are cut off for clients that read (T4, TM1, TM2). Method: many
// streams that are not read, then a client that reads.
import { constants } from 'node:http2';
import { describe, expect, it } from 'vitest';
import { createByteBudgets } from '#transport';
import { ManualTime, until } from '../../../support/budget-time.ts';
import { openStream, readRequest, startGrpcWorld } from '../../../support/grpc-world.ts';
import { RawGrpc } from '../../../support/raw-grpc.ts';

const UNSENT_BYTES = 3_000_000;
const EVENTS = 30;
const STALL_MS = 10_000;
const STEPS_PER_STALL = 2_000;
const DATA = 'x'.repeat(200_000);

const pathOf = (method: string): string => `/cairn.v1.EventStore/${method}`;
const requestOf = (method: string): Uint8Array =>
  readRequest('shop', method === 'SubscribeEvents' ? 60_000 : undefined);

describe.each(['QueryEvents', 'QueryEventBatches', 'ScanDatabaseLog', 'ScanLogBatches', 'SubscribeEvents'])(
  'unread streams of %s',
  (method) => {
    it('use at most the budget, and are cut off for a client that reads, with the reason', async () => {
      const time = new ManualTime();
      const limits = { requestBytesMax: 2 ** 30, unsentBytesMax: UNSENT_BYTES, stallMs: STALL_MS, time };
      const budgets = createByteBudgets(limits);
      await using at = await startGrpcWorld({ shop: { transactions: EVENTS, eventsEach: 1, data: DATA } }, budgets);
      // Enough streams to use the whole budget, although each has only its share.
      const others = Array.from({ length: 12 }, () => new RawGrpc(at.port));
      const streams = others.flatMap(({ session }) =>
        Array.from({ length: 2 }, () => openStream(session, pathOf(method), requestOf(method))),
      );
      await until(() => budgets.unsent.waiting >= others.length);
      expect(budgets.unsent.used).toBeGreaterThan(0);
      // The first slice of a stream may be larger than its estimate: two copies of half a megabyte.
      expect(budgets.unsent.used).toBeLessThan(2 * UNSENT_BYTES);
      let isOver = false;
      const query = { path: pathOf('QueryEvents'), pieces: [requestOf('QueryEvents')] };
      const answer = at.raw.call(query).finally(() => {
        isOver = true;
      });
      await until(() => {
        time.advance(STALL_MS / STEPS_PER_STALL);
        return isOver;
      });
      const { status, body } = await answer;
      expect([status, body.length > EVENTS * DATA.length]).toEqual([0, true]);
      const cut = streams.filter(({ destroyed }) => destroyed).map(({ rstCode }) => rstCode);
      expect(new Set(cut)).toEqual(new Set([constants.NGHTTP2_ENHANCE_YOUR_CALM]));
      for (const { session } of others) session.destroy();
      await until(() => budgets.unsent.used === 0);
    });
  },
);

// Goal: a stream brings every message in order and its status behind them, and waits for its reader (T4).
// Method: a server of a few small methods, driven by a client that sends any bytes.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FRAME_HEADER_BYTES, frame } from '../../../../src/transport/grpc/wire/framing.ts';
import { GRPC_STATUS } from '../../../../src/transport/grpc/wire/status.ts';
import { until } from '../../../support/budget-time.ts';
import {
  FILL_CHUNK,
  FILL_CHUNKS,
  MESSAGE,
  type SmallService,
  startSmallService,
} from '../../../support/small-service.ts';

let at: SmallService;

beforeEach(async () => {
  at = await startSmallService();
});

afterEach(async () => at[Symbol.asyncDispose]());

describe('streams', () => {
  it('sends every message in order and ends with OK', async () => {
    const reply = await at.raw.call({ path: '/test.Service/Count', pieces: [frame(Buffer.from('2000'))] });
    expect(reply.status).toBe(GRPC_STATUS.OK);
    const expected = Buffer.concat(Array.from({ length: 2000 }, (_, n) => frame(Buffer.from(String(n)))));
    expect(reply.body.equals(expected)).toBe(true);
  });

  it('has its status behind the last message, when its handler says that there is no other', async () => {
    const reply = await at.raw.call({ path: '/test.Service/Whole', pieces: [frame(MESSAGE)] });
    expect(reply.body).toEqual(Buffer.from(frame(MESSAGE)));
    expect(reply.status).toBe(GRPC_STATUS.OK);
    await until(() => at.ended.length === 1);
    expect(at.ended).toEqual(['OK']);
  });

  it('ends with the status of a failure after the messages before it', async () => {
    const reply = await at.raw.call({ path: '/test.Service/Fail', pieces: [frame(MESSAGE)] });
    expect(reply.body).toEqual(Buffer.from(frame(MESSAGE)));
    expect(reply).toMatchObject({ status: GRPC_STATUS.NOT_FOUND, message: 'It went away' });
  });

  it('stops writing when its reader does not read, and goes on when it does (T4)', async () => {
    const stream = at.raw.session.request({
      ':method': 'POST',
      ':path': '/test.Service/Fill',
      'content-type': 'application/grpc',
    });
    stream.pause();
    stream.end(frame(MESSAGE));
    await until(() => at.written.chunks > 0);
    const other = await at.raw.call({ path: '/test.Service/Echo', pieces: [frame(MESSAGE)] });
    expect(other.status).toBe(GRPC_STATUS.OK);
    expect(at.written.chunks).toBeLessThan(FILL_CHUNKS / 10);
    expect(at.ended).toEqual(['OK']);
    let received = 0;
    stream.on('data', (piece: Buffer) => {
      received += piece.length;
    });
    stream.resume();
    await new Promise((resolve) => stream.on('close', resolve));
    expect(received).toBe(FILL_CHUNKS * (FILL_CHUNK.length + FRAME_HEADER_BYTES));
    expect(at.ended).toEqual(['OK', 'OK']);
  });
});

// Goal: requests are read for pieces of any size (T2); streams keep their order and wait for their reader (T4). Method:
// requests in pieces; a stream that is read late.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FRAME_HEADER_BYTES, frame } from '../../../../src/transport/grpc/wire/framing.ts';
import { GRPC_STATUS } from '../../../../src/transport/grpc/wire/status.ts';
import { until } from '../../../support/budget-time.ts';
import {
  FILL_CHUNK,
  FILL_CHUNKS,
  HELLO,
  MESSAGE,
  type SmallService,
  startSmallService,
} from '../../../support/small-service.ts';

let at: SmallService;

beforeEach(async () => {
  at = await startSmallService();
});

afterEach(async () => at[Symbol.asyncDispose]());

it('a message is read in single bytes, or in thousands of pieces, small and large (T2)', async () => {
  const bytewise = [...HELLO].map((byte) => Uint8Array.of(byte));
  expect((await at.raw.call({ path: '/test.Service/Echo', pieces: bytewise })).body).toEqual(Buffer.from(HELLO));
  const framed = frame(Buffer.from(Array.from({ length: 9_000 }, (_, n) => n % 251)));
  const pieces: Uint8Array[] = [];
  for (let from = 0, n = 0; from < framed.length; n++) {
    const to = from + (n % 300 === 299 ? 2_000 : 1 + (n % 7));
    pieces.push(framed.subarray(from, to));
    from = to;
  }
  expect((await at.raw.call({ path: '/test.Service/Echo', pieces })).body).toEqual(Buffer.from(framed));
});

it('a stream has every message in order and ends with OK', async () => {
  const reply = await at.raw.call({ path: '/test.Service/Count', pieces: [frame(Buffer.from('2000'))] });
  expect(reply.status).toBe(GRPC_STATUS.OK);
  const expected = Buffer.concat(Array.from({ length: 2000 }, (_, n) => frame(Buffer.from(String(n)))));
  expect(reply.body.equals(expected)).toBe(true);
});

it('a stream stops writing when its client does not read, and continues when it does (T4)', async () => {
  const headers = { ':method': 'POST', ':path': '/test.Service/Fill', 'content-type': 'application/grpc' };
  const stream = at.raw.session.request(headers).pause();
  stream.end(frame(MESSAGE));
  await until(() => at.written.chunks > 0);
  const other = await at.raw.call({ path: '/test.Service/Echo', pieces: [HELLO] });
  expect(other.status).toBe(GRPC_STATUS.OK);
  expect(at.written.chunks).toBeLessThan(FILL_CHUNKS / 10);
  expect(at.ended).toEqual(['OK']);
  let received = 0;
  for await (const piece of stream) received += (piece as Buffer).length;
  expect(received).toBe(FILL_CHUNKS * (FILL_CHUNK.length + FRAME_HEADER_BYTES));
  await until(() => at.ended.length === 2);
  expect(at.ended).toEqual(['OK', 'OK']);
});

// Goal: a connection may send only a limited number of small pieces, because each costs microseconds. Method: requests
// in pieces of given sizes.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { frame } from '../../../../src/transport/grpc/wire/framing.ts';
import { SMALL_PIECE_BYTES, WASTE_PER_STREAM } from '../../../../src/transport/grpc/wire/stream-limits.ts';
import { eventually } from '../../../support/eventually.ts';
import { type Frames, frameOf, grpcHeaders, openFrames } from '../../../support/http2-frames.ts';
import { framed, prefix } from '../../../support/raw-grpc.ts';
import { MESSAGE, type SmallService, startSmallService } from '../../../support/small-service.ts';

const [DATA, HEADERS] = [0, 1];
const [END_STREAM, END_HEADERS] = [1, 4];
const ENHANCE_YOUR_CALM = 11;
const REQUEST_BYTES_MAX = 60_000;
/** More than a connection with 128 streams may send. */
const PIECES = 4 * 128 * WASTE_PER_STREAM;

let at: SmallService;

beforeEach(async () => {
  at = await startSmallService({ limits: { requestBytesMax: REQUEST_BYTES_MAX } });
});

afterEach(async () => at[Symbol.asyncDispose]());

function call(stream: number, request: Uint8Array, pieceBytes: number): Buffer {
  const frames = [frameOf({ type: HEADERS, flags: END_HEADERS, stream, payload: grpcHeaders('/test.Service/Echo') })];
  for (let from = 0; from < request.length; from += pieceBytes) {
    frames.push(frameOf({ type: DATA, flags: 0, stream, payload: request.subarray(from, from + pieceBytes) }));
  }
  return Buffer.concat([...frames, frameOf({ type: DATA, flags: END_STREAM, stream, payload: new Uint8Array() })]);
}

function replyOn({ received }: Frames, stream: number): { readonly bytes: number; readonly hasEnded: boolean } {
  const ours = received.filter((each) => each.stream === stream);
  const bytes = ours.filter(({ type }) => type === DATA).reduce((sum, { payload }) => sum + payload.length, 0);
  return { bytes, hasEnded: ours.some(({ flags }) => (flags & END_STREAM) !== 0) };
}

it('a client that sends thousands of bytes one by one loses its connection, and no other client does', async () => {
  await using frames = await openFrames(at.port);
  const part = Buffer.concat([prefix(REQUEST_BYTES_MAX), new Uint8Array(2 * PIECES)]);
  for (let stream = 1; stream <= 5; stream += 2) frames.write(call(stream, part.subarray(0, PIECES), 1));
  frames.write(call(7, part, 1));
  await eventually(() => expect(frames.isClosed).toBe(true));
  expect([frames.goAway, at.endings]).toEqual([ENHANCE_YOUR_CALM, ['pieces']]);
  const { body } = await at.raw.call({ path: '/test.Service/Echo', pieces: [frame(MESSAGE)] });
  expect(body).toEqual(Buffer.from(frame(MESSAGE)));
});

it.each([
  ['a few hundred bytes, each by itself', 500, 1],
  ['the longest request, in pieces that are not small', REQUEST_BYTES_MAX - 5, SMALL_PIECE_BYTES],
])('a request of %s is answered', async (_name, bytes, pieceBytes) => {
  await using frames = await openFrames(at.port);
  const request = framed(new Uint8Array(bytes));
  frames.write(call(1, request, pieceBytes));
  await eventually(() => expect(replyOn(frames, 1)).toEqual({ bytes: request.length, hasEnded: true }));
  expect(at.endings).toEqual([]);
});

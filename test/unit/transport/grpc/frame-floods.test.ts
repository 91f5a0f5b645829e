// Goal: a connection that sends far more frames than its requests need is closed, and requests and reads do not count
// as floods. Method: raw frames of each type.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { frame } from '../../../../src/transport/grpc/wire/framing.ts';
import { eventually } from '../../../support/eventually.ts';
import { type Frames, frameOf, grpcHeaders, openFrames } from '../../../support/http2-frames.ts';
import {
  FILL_CHUNK,
  FILL_CHUNKS,
  HELLO,
  type SmallService,
  startSmallService,
} from '../../../support/small-service.ts';

const [DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PING, WINDOW_UPDATE, UNKNOWN] = [0, 1, 2, 3, 4, 6, 8, 0xee];
const of = (type: number, stream: number, ...payload: number[]): Buffer =>
  frameOf({ type, flags: 0, stream, payload: Buffer.from(payload) });
const ONE = [0, 0, 0, 1];
const FLOOD_BYTES = 4 * 2 ** 20;

let at: SmallService;

beforeEach(async () => {
  at = await startSmallService({ limits: { requestBytesMax: 100_000 } });
});

afterEach(async () => at[Symbol.asyncDispose]());

async function openUsed(): Promise<Frames> {
  const frames = await openFrames(at.port);
  frames.write(frameOf({ type: HEADERS, flags: 5, stream: 1, payload: grpcHeaders('/absent') }));
  await eventually(() => expect(frames.received.some(({ stream, flags }) => stream === 1 && flags === 5)).toBe(true));
  return frames;
}

describe('a connection is closed when it floods with', () => {
  it.each([
    ['WINDOW_UPDATE frames of the connection', of(WINDOW_UPDATE, 0, ...ONE)],
    ['WINDOW_UPDATE frames of a stream that has ended', of(WINDOW_UPDATE, 1, ...ONE)],
    ['RST_STREAM frames of a stream that has ended', of(RST_STREAM, 1, ...ONE)],
    ['PING frames', of(PING, 0, ...ONE, ...ONE)],
    ['SETTINGS frames', of(SETTINGS, 0)],
    ['PRIORITY frames', of(PRIORITY, 1, 0, ...ONE)],
    ['frames of an unknown type', of(UNKNOWN, 0)],
  ])('%s', async (_what, one) => {
    await using frames = await openUsed();
    frames.write(Buffer.alloc(FLOOD_BYTES - (FLOOD_BYTES % one.length), one));
    await eventually(() => expect(frames.isClosed).toBe(true));
    expect((await at.raw.call({ path: '/test.Service/Echo', pieces: [HELLO] })).status).toBe(0);
  });

  it('WINDOW_UPDATE frames, and the reason is recorded', async () => {
    await using frames = await openUsed();
    frames.write(Buffer.alloc(13 * 300_000, of(WINDOW_UPDATE, 0, ...ONE)));
    await eventually(() => expect(at.endings).toEqual(['frames']));
  });
});

describe('a connection stays open that', () => {
  it.each([
    ['sends 8 MiB of requests', '/test.Service/Echo', 0],
    ['sends 8 MiB of requests that are refused by their headers', '/absent', 12],
  ])('%s', async (_what, path, wanted) => {
    const message = frame(new Uint8Array(64 * 1024));
    for (let round = 0; round < 8; round++) {
      const calls = Array.from({ length: 16 }, () => at.raw.call({ path, pieces: [message] }));
      expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(calls.map(() => wanted));
    }
    expect(at.endings).toEqual([]);
  });

  it('sends 4 MiB of headers', async () => {
    const headers = { filler: 'x'.repeat(15_000) };
    for (let call = 0; call < 280; call++) {
      const reply = await at.raw.call({ path: '/test.Service/Echo', pieces: [HELLO], headers });
      expect(reply.status).toBe(0);
    }
    expect(at.endings).toEqual([]);
  });

  it('reads 12 MiB, and updates its windows after every KiB', async () => {
    await using frames = await openFrames(at.port);
    const windows = [of(SETTINGS, 0, 0, 4, 0x40, 0, 0, 0), of(WINDOW_UPDATE, 0, 0x40, 0, 0, 0)];
    const head = frameOf({ type: HEADERS, flags: 4, stream: 1, payload: grpcHeaders('/test.Service/Fill') });
    frames.write(Buffer.concat([...windows, head, frameOf({ type: DATA, flags: 1, stream: 1, payload: HELLO })]));
    const update = Buffer.concat([of(WINDOW_UPDATE, 0, 0, 0, 4, 0), of(WINDOW_UPDATE, 1, 0, 0, 4, 0)]);
    let updates = 0;
    await eventually(() => {
      const bytes = frames.received.reduce((sum, { type, payload }) => sum + (type === DATA ? payload.length : 0), 0);
      const due = Math.floor(bytes / 1024) - updates;
      if (due > 0) frames.write(Buffer.alloc(due * update.length, update));
      updates += due;
      expect(bytes).toBe(FILL_CHUNKS * frame(FILL_CHUNK).length);
    });
    frames.write(of(PING, 0, ...ONE, ...ONE));
    await eventually(() => expect(frames.received.some(({ type }) => type === PING)).toBe(true));
    expect(at.endings).toEqual([]);
  });
});

// Goal: clients receive the stream limit first, and can use little memory until they acknowledge it. Method: raw frames
// in various orders.
import { once } from 'node:events';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FrameFloods } from '../../../../src/transport/frame-floods.ts';
import { MemoryBudget } from '../../../../src/transport/memory-budget.ts';
import { announceSettings } from '../../../../src/transport/opening.ts';
import { Authority } from '../../../support/certificates.ts';
import { eventually } from '../../../support/eventually.ts';
import {
  ACKNOWLEDGEMENT,
  dialFrames,
  type Frames,
  frameOf,
  grpcHeaders,
  grpcHeadersWithTable,
  PREFACE,
  SETTINGS_FRAME,
  TABLE_REFERENCE,
} from '../../../support/http2-frames.ts';
import { HELLO, type SmallService, startSmallService } from '../../../support/small-service.ts';

const STREAMS = 8;
const OPENING_MS = 1_000;
const ENDED_STREAM = 1;
const [DATA, HEADERS, SETTINGS, UNKNOWN] = [0, 1, 4, 0xee];
/** References to headers of the static table (RFC 7541, appendix A). */
const [METHOD_GET, STATIC_REFERENCE] = [0x80 | 2, 0x80 | 15];
const [PROTOCOL_ERROR, COMPRESSION_ERROR, ENHANCE_YOUR_CALM] = [1, 9, 11];

let at: SmallService;
let frames: Frames;

beforeEach(async () => {
  at = await startSmallService({ limits: { streamsPerConnectionMax: STREAMS, openingMs: OPENING_MS } });
  frames = await dialFrames(at.port);
});

afterEach(async () => {
  await frames[Symbol.asyncDispose]();
  await at[Symbol.asyncDispose]();
});

function ask(stream: number): Buffer {
  const head = frameOf({ type: HEADERS, flags: 4, stream, payload: grpcHeaders('/test.Service/Echo') });
  return Buffer.concat([head, frameOf({ type: DATA, flags: ENDED_STREAM, stream, payload: HELLO })]);
}

const withTable = (references: Uint8Array): Buffer => grpcHeadersWithTable('/test.Service/Echo', references);

function answered(): readonly number[] {
  return frames.received.filter(({ flags, type }) => type === HEADERS && flags === 5).map(({ stream }) => stream);
}

describe('a connection', () => {
  it('begins with the stream limit and without an HPACK table, and receives no other settings', async () => {
    await eventually(() => expect(frames.settings).toHaveLength(1));
    expect(frames.settings[0]?.payload).toEqual(Buffer.of(0, 1, 0, 0, 0, 0, 0, 3, 0, 0, 0, STREAMS));
    frames.write(Buffer.concat([PREFACE, SETTINGS_FRAME, ACKNOWLEDGEMENT, ask(1)]));
    await eventually(() => expect(answered()).toEqual([1]));
    const ignored = frames.received[1];
    expect([ignored?.type, ignored && Buffer.from(ignored.payload).readUInt8(3)]).toEqual([0xca, SETTINGS]);
    expect(frames.settings).toHaveLength(1);
  });

  it('is closed at the first reference to an HPACK table after the acknowledgement', async () => {
    const first = frameOf({ type: HEADERS, flags: 5, stream: 1, payload: withTable(Buffer.of(TABLE_REFERENCE)) });
    frames.write(Buffer.concat([PREFACE, SETTINGS_FRAME, first, ACKNOWLEDGEMENT]));
    await eventually(() => expect(answered()).toEqual([1]));
    // Without a change of the table's size, which would empty the table for any announced size.
    const second = Buffer.concat([grpcHeaders('/test.Service/Echo').subarray(1), Buffer.of(TABLE_REFERENCE)]);
    frames.write(frameOf({ type: HEADERS, flags: 5, stream: 3, payload: second }));
    await eventually(() => expect(frames.isClosed).toBe(true));
    expect(frames.goAway).toBe(COMPRESSION_ERROR);
  });

  it('is closed when it has 32 KiB of header blocks before the acknowledgement', async () => {
    const block = Buffer.concat([grpcHeaders('/test.Service/Echo'), Buffer.alloc(16_000, STATIC_REFERENCE)]);
    const heads = [1, 3, 5].map((stream) => frameOf({ type: HEADERS, flags: 5, stream, payload: block }));
    frames.write(Buffer.concat([PREFACE, SETTINGS_FRAME, ...heads, ACKNOWLEDGEMENT]));
    await eventually(() => expect(frames.isClosed).toBe(true));
    expect([frames.goAway, at.ended, at.endings]).toEqual([ENHANCE_YOUR_CALM, [], []]);
  });

  it.each([
    ['of more than 256 headers', Buffer.alloc(4_000, STATIC_REFERENCE)],
    ['whose few bytes expand to 400 KB before the acknowledgement', Buffer.alloc(100, TABLE_REFERENCE)],
  ])('is closed at the first request %s', async (_what, references) => {
    const head = frameOf({ type: HEADERS, flags: 5, stream: 1, payload: withTable(references) });
    frames.write(Buffer.concat([PREFACE, SETTINGS_FRAME, head, ACKNOWLEDGEMENT]));
    await eventually(() => expect(frames.isClosed).toBe(true));
    expect([frames.goAway, at.endings]).toEqual([ENHANCE_YOUR_CALM, ['headers']]);
  });

  it('is closed after a hundred requests that HTTP/2 forbids', async () => {
    const twice = Buffer.concat([grpcHeaders('/test.Service/Echo'), Buffer.of(METHOD_GET)]);
    const send = (from: number, to: number): void => {
      for (let place = from; place < to; place++) {
        frames.write(frameOf({ type: HEADERS, flags: 5, stream: 2 * place + 1, payload: twice }));
      }
    };
    frames.write(Buffer.concat([PREFACE, SETTINGS_FRAME, ACKNOWLEDGEMENT]));
    send(0, 100);
    await eventually(() => expect(frames.resets).toEqual(Array(100).fill(PROTOCOL_ERROR)));
    send(100, 102);
    await eventually(() => expect(frames.isClosed).toBe(true));
  });

  it('is served with bytes in pieces of any size, before and after the acknowledgement', async () => {
    const all = Buffer.concat([PREFACE, SETTINGS_FRAME, ask(1), ACKNOWLEDGEMENT, ask(3), ask(5)]);
    for (const byte of all) {
      frames.write(Uint8Array.of(byte));
      await new Promise(setImmediate);
    }
    await eventually(() => expect(answered()).toEqual([1, 3, 5]));
    await frames[Symbol.asyncDispose]();
    frames = await dialFrames(at.port);
    frames.write(all);
    await eventually(() => expect(answered()).toEqual([1, 3, 5]));
  });

  it('is closed when it has sent too much before the acknowledgement', async () => {
    const junk = frameOf({ type: UNKNOWN, flags: 0, stream: 0, payload: new Uint8Array(16_000) });
    frames.write(Buffer.concat([PREFACE, SETTINGS_FRAME, ...Array(70).fill(junk)]));
    await eventually(() => expect(frames.isClosed).toBe(true));
    await eventually(() => expect(at.budgets.requests.used).toBe(0));
    expect(frames.goAway).toBe(ENHANCE_YOUR_CALM);
  });

  it.each([
    ['another protocol', Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n')],
    [
      'an acknowledgement with content',
      Buffer.concat([PREFACE, frameOf({ type: 4, flags: 1, stream: 0, payload: new Uint8Array(6) })]),
    ],
  ])('receives the reason of an error: %s', async (_what, bytes) => {
    frames.write(bytes);
    await eventually(() => expect(frames.isClosed).toBe(true));
    expect(frames.goAway).toBeGreaterThan(0);
  });
});

it('a connection of TLS that its client closes right after the acknowledgement is closed and not served', async () => {
  let served = 0;
  const closed = Promise.withResolvers<void>();
  const serve = (socket: TLSSocket): void => {
    socket.once('close', closed.resolve);
    const onOpen = (): void => void (served += 1);
    const floods = new FrameFloods(() => undefined);
    const requests = new MemoryBudget({ bytesMax: 0, stallMs: 0 });
    announceSettings({ socket, streams: STREAMS, withinMs: 60_000, requests, floods, onOpen });
  };
  await using server = createServer(new Authority().issue({ cn: 'server' }), serve).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const client = connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
  client.on('error', () => undefined).resume();
  client.end(Buffer.concat([PREFACE, SETTINGS_FRAME, ACKNOWLEDGEMENT]));
  await closed.promise;
  expect(served).toBe(0);
});

// Goal: cancelled calls do not affect others on their connection, and their cost is limited (T12). Method: calls of
// grpc-js, and raw frames.
import * as grpc from '@grpc/grpc-js';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually } from '../../../support/eventually.ts';
import { frameOf, grpcHeaders, openFrames } from '../../../support/http2-frames.ts';
import { HELLO, MESSAGE, type SmallService, startSmallService } from '../../../support/small-service.ts';

const STREAMS = 24;
const same = (bytes: Buffer): Buffer => bytes;
const CANCELLED = 'CANCELLED';

let at: SmallService;
let client: grpc.Client;

beforeEach(async () => {
  at = await startSmallService({ limits: { streamsPerConnectionMax: STREAMS } });
  client = new grpc.Client(`127.0.0.1:${at.port}`, grpc.credentials.createInsecure());
});

afterEach(async () => {
  client.close();
  await at[Symbol.asyncDispose]();
});

interface Asked {
  readonly call: grpc.ClientUnaryCall;
  readonly outcome: Promise<string>;
}

function ask(name: string, deadline?: Date): Asked {
  let call: grpc.ClientUnaryCall | undefined;
  const outcome = new Promise<string>((resolve) => {
    const options = deadline === undefined ? {} : { deadline };
    call = client.makeUnaryRequest(`/test.Service/${name}`, same, same, MESSAGE, options, (error) => {
      resolve(error === null ? 'OK' : (grpc.status[error.code] ?? ''));
    });
  });
  if (call === undefined) throw new Error('a call begins at once');
  return { call, outcome };
}

function many(count: number, name: string): readonly Asked[] {
  return Array.from({ length: count }, () => ask(name));
}

function outcomes(asked: readonly Asked[]): Promise<readonly string[]> {
  return Promise.all(asked.map(({ outcome }) => outcome));
}

async function waits(count: number): Promise<void> {
  await eventually(() => expect(at.waiting.filter(({ ended }) => !ended)).toHaveLength(count));
}

function statuses(count: number, status: string): readonly string[] {
  return Array.from({ length: count }, () => status);
}

it('calls on a connection with cancelled ones (T12) are answered, also in their slots', async () => {
  const [cancelled, kept] = [many(STREAMS / 2, 'Wait'), many(STREAMS / 2, 'Wait')];
  await waits(STREAMS);
  const others = many(2 * STREAMS, 'Echo');
  for (const { call } of cancelled) call.cancel();
  expect(await outcomes(others)).toEqual(statuses(2 * STREAMS, 'OK'));
  expect(await outcomes(cancelled)).toEqual(statuses(STREAMS / 2, CANCELLED));
  for (const call of at.waiting) call.reply(HELLO);
  expect(await outcomes(kept)).toEqual(statuses(STREAMS / 2, 'OK'));
});

const [RST_STREAM, , ENHANCE_YOUR_CALM, CANCEL] = [3, 7, 11, 8];

function begin(stream: number): Buffer {
  return frameOf({ type: 1, flags: 4, stream, payload: grpcHeaders('/test.Service/Wait') });
}

function cancel(stream: number): Buffer {
  return frameOf({ type: RST_STREAM, flags: 0, stream, payload: Buffer.of(0, 0, 0, CANCEL) });
}

function each(from: number, count: number, ...frames: readonly ((stream: number) => Buffer)[]): Buffer {
  return Buffer.concat(Array.from({ length: count }, (_, n) => frames.map((make) => make(2 * (from + n) + 1))).flat());
}

it('a client that repeatedly exceeds its number of streams loses its connection, and no other client does', async () => {
  await using frames = await openFrames(at.port);
  const kept = ask('Wait');
  await waits(1);
  for (let n = 0; !frames.isClosed; n++) {
    frames.write(each(1_000 * n, 1_000, begin, cancel));
    await new Promise(setImmediate);
  }
  expect([frames.goAway, at.endings]).toEqual([ENHANCE_YOUR_CALM, ['flood']]);
  at.waiting[0]?.reply(HELLO);
  expect(await kept.outcome).toBe('OK');
});

// Goal: unread small replies stay within the budget, and committed writes are answered (TM1). Method: a client that
// does not read, and replies that the test sends.
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ByteBudgets } from '../../../../src/transport/byte-budgets.ts';
import type { Call } from '../../../../src/transport/grpc/wire/call.ts';
import { frame } from '../../../../src/transport/grpc/wire/framing.ts';
import type { MethodTraits } from '../../../../src/transport/grpc/wire/method-traits.ts';
import { GRPC_STATUS } from '../../../../src/transport/grpc/wire/status.ts';
import { until } from '../../../support/budget-time.ts';
import { RawGrpc } from '../../../support/raw-grpc.ts';
import { startWireServer, type WireFixture } from '../../../support/wire-server.ts';

const UNSENT_BYTES = 80_000;
/** The budget, and a quarter in addition. */
const ROOM_BYTES = 100_000;
const REPLY = frame(new Uint8Array(2_000));
const COPIES = 2;
const CALLS = 60;
const REQUEST = frame(Buffer.from('hello'));
const NO_ROOM = { status: GRPC_STATUS.UNAVAILABLE, message: 'no room' };

let fixture: WireFixture;
let budgets: ByteBudgets;
let reader: RawGrpc;
let unread: ClientHttp2Session;
let calls: Call[];
let ended: string[];

beforeEach(async () => {
  calls = [];
  const method = (name: string, habits: Pick<MethodTraits, 'mustAnswer'> = {}) => ({
    kind: 'unary' as const,
    service: 'test.Service',
    name,
    ...habits,
    handle: (call: Call): void => void calls.push(call),
  });
  const methods = [method('Read'), method('Write', { mustAnswer: true })];
  fixture = await startWireServer({ methods, unsent: UNSENT_BYTES });
  const { port } = fixture;
  ({ budgets, ended } = fixture);
  reader = new RawGrpc(port);
  unread = connect(`http://127.0.0.1:${port}`, { settings: { initialWindowSize: 0 } });
  unread.on('error', () => undefined);
});

afterEach(async () => {
  unread.destroy();
  await reader.close();
  await fixture[Symbol.asyncDispose]();
});

function ask(name: string): ClientHttp2Stream {
  const path = `/test.Service/${name}`;
  const stream = unread.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc' });
  stream.on('error', () => undefined);
  stream.end(REQUEST);
  return stream;
}

async function fill(): Promise<readonly ClientHttp2Stream[]> {
  const streams = Array.from({ length: CALLS }, () => ask('Read'));
  await until(() => calls.length === CALLS);
  for (const call of calls) call.reply(REPLY);
  return streams;
}

function takeTheSmallRest(): void {
  for (const bytes of [1_000, 1]) while (budgets.small.of({}).tryTake(bytes, () => undefined) !== undefined);
}

/** Leaves no room for a reply of a few bytes, nor for one that would be read quickly. */
function takeTheRest(): void {
  takeTheSmallRest();
  for (let free = budgets.unsent.bytesMax - budgets.unsent.used; free > 0; free = 0)
    budgets.unsent.of({}).takeAnyway(free, () => undefined);
}

function held(): number {
  return budgets.unsent.used + budgets.small.used;
}

it('unread small replies use at most the share of their connection', async () => {
  await fill();
  const sent = ended.filter((code) => code === 'OK').length;
  expect(ended.filter((code) => code === 'UNAVAILABLE')).toHaveLength(CALLS - sent);
  expect(held()).toBe(sent * COPIES * REPLY.length);
  expect(held()).toBeLessThanOrEqual(ROOM_BYTES);
  expect(held()).toBeGreaterThan(ROOM_BYTES / 3);
  unread.destroy();
  await until(() => held() === 0);
});

it('with unread small replies a started write is answered, and a new one is rejected', async () => {
  const begun = reader.call({ path: '/test.Service/Write', pieces: [REQUEST] });
  await until(() => calls.length === 1);
  const write = calls.shift();
  await fill();
  takeTheRest();
  expect(await reader.call({ path: '/test.Service/Write', pieces: [REQUEST] })).toMatchObject(NO_ROOM);
  expect(calls).toHaveLength(CALLS);
  write?.reply(REPLY);
  expect(await begun).toMatchObject({ status: GRPC_STATUS.OK });
});

it('with unread small replies a repeated write is cut off, because a status would claim that it failed', async () => {
  const stream = ask('Write');
  await until(() => calls.length === 1);
  const write = calls.shift();
  await fill();
  takeTheRest();
  write?.reply(REPLY, { isRepeat: true });
  await until(() => stream.closed);
  expect(stream.rstCode).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
});

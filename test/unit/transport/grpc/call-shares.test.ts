// Goal: calls of some connections leave slots for other connections (T9), and calls start by connection in turn (T10).
// Method: clients with many calls on a server with few slots.
import type { ClientHttp2Stream } from 'node:http2';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Call } from '../../../../src/transport/grpc/wire/call.ts';
import { frame } from '../../../../src/transport/grpc/wire/framing.ts';
import type { Method } from '../../../../src/transport/grpc/wire/method.ts';
import { type CallKind } from '../../../../src/transport/grpc/wire/method-traits.ts';
import { GRPC_STATUS } from '../../../../src/transport/grpc/wire/status.ts';
import { until } from '../../../support/budget-time.ts';
import { RawGrpc, type RawReply } from '../../../support/raw-grpc.ts';
import { startWireServer, type WireFixture } from '../../../support/wire-server.ts';

const PLACES = 12;
const BURST = 700;
const BLOCK_MS = 1_000;
const STREAMS = 800;
const REQUEST = frame(Buffer.from('hello'));
const { OK, RESOURCE_EXHAUSTED } = GRPC_STATUS;

let fixture: WireFixture;
let clients: RawGrpc[];
let begun: Record<string, Call[]>;
let endedBefore: number;

const status = (what: string) => (kind: CallKind, count: number) =>
  ({ code: 'RESOURCE_EXHAUSTED', message: `${what} ${kind} ${count}` }) as const;

function methods(): readonly Method[] {
  const service = 'test.Service';
  const keep = (call: Call): void => {
    if (call.ended) endedBefore += 1;
    (begun[call.method.name] ??= []).push(call);
  };
  const stream = async (call: Call): Promise<void> => {
    keep(call);
    call.begin();
    await new Promise((resolve) => call.signal.addEventListener('abort', resolve));
  };
  const echo = (call: Call, message: Uint8Array): void => {
    keep(call);
    call.reply(frame(message));
  };
  const block = (call: Call): void => {
    keep(call);
    for (const endMs = performance.now() + BLOCK_MS; performance.now() < endMs; );
  };
  return [
    { kind: 'unary', service, name: 'Await', waits: true, handle: keep },
    { kind: 'server_stream', service, name: 'Watch', waits: true, handle: stream },
    { kind: 'unary', service, name: 'Work', handle: keep },
    { kind: 'unary', service, name: 'Block', handle: block },
    { kind: 'unary', service, name: 'Echo', handle: echo },
    { kind: 'unary', service, name: 'Probe', isProbe: true, handle: echo },
  ];
}

beforeEach(async () => {
  begun = {};
  endedBefore = 0;
  clients = [];
  fixture = await startWireServer({
    methods: methods(),
    refusals: { tooManyCalls: status('too many'), displaced: status('displaced') },
    limits: {
      streamsPerConnectionMax: STREAMS,
      callsMax: { waiting: PLACES, reading: PLACES },
    },
  });
});

afterEach(async () => {
  for (const { session } of clients) session.destroy();
  await fixture[Symbol.asyncDispose]();
});

function connect(): RawGrpc {
  const client = new RawGrpc(fixture.port);
  clients.push(client);
  return client;
}

function ask(client: RawGrpc, name: string): Promise<RawReply> {
  return client.call({ path: `/test.Service/${name}`, pieces: [REQUEST] });
}

function crowd(client: RawGrpc, name: string, count: number): RawReply[] {
  const ended: RawReply[] = [];
  for (let n = 0; n < count; n++)
    void ask(client, name).then(
      (reply) => ended.push(reply),
      () => undefined,
    );
  return ended;
}

it.each(['Await', 'Watch'])('waiting calls (T9) leave slots for other calls: %s', async (name) => {
  const replies = [connect(), connect(), connect()].map((client) => crowd(client, name, 3 * PLACES));
  await until(() => replies.flat().length + fixture.server.callCount === 9 * PLACES);
  expect(fixture.server.callCount).toBeLessThan(PLACES);
  expect(replies.flat().every((reply) => reply.status === RESOURCE_EXHAUSTED)).toBe(true);
  expect(fixture.refused.length).toBe(replies.flat().length);
  const other = connect();
  expect((await ask(other, 'Echo')).status).toBe(OK);
  expect((await ask(replies.length > 0 ? other : connect(), 'Probe')).status).toBe(OK);
});

it('waiting calls (T9) are displaced for a connection that has far fewer, with a reason', async () => {
  const first = connect();
  const ofFirst = crowd(first, 'Await', 2 * PLACES);
  await until(() => ofFirst.length === 2 * PLACES - PLACES / 2);
  expect(ofFirst.at(-1)?.message).toBe(`too many waiting ${PLACES / 2}`);
  const ofOthers = [connect(), connect()].map((client) => crowd(client, 'Await', PLACES));
  await until(() => ofFirst.some(({ message }) => message.startsWith('displaced waiting')));
  await until(() => ofOthers.flat().length + ofFirst.length + fixture.server.callCount === 4 * PLACES);
  // Three connections that take all they can get have a fourth of the slots each, and the rest is free.
  for (const replies of ofOthers) expect(PLACES - replies.length).toBeGreaterThanOrEqual(3);
  expect(2 * PLACES - ofFirst.length).toBeLessThanOrEqual(PLACES / 2);
  const calls = begun['Await'] ?? [];
  expect(calls.filter((each) => each.ended && !each.signal.aborted)).toEqual([]);
});

describe('received calls (T10)', () => {
  function burst(
    client: RawGrpc,
    name: string,
    count: number,
    more: Readonly<Record<string, string>> = {},
  ): readonly ClientHttp2Stream[] {
    const path = `/test.Service/${name}`;
    const headers = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', ...more };
    return Array.from({ length: count }, () => {
      const stream = client.session.request(headers).on('error', () => undefined);
      stream.resume().end(REQUEST);
      return stream;
    });
  }

  it('start by connection in turn', async () => {
    const [many, few] = [connect(), connect()];
    await Promise.all([ask(many, 'Echo'), ask(few, 'Echo')]);
    burst(many, 'Work', BURST);
    await until(() => fixture.server.callCount > 0);
    await ask(few, 'Echo');
    expect((begun['Work'] ?? []).length).toBeLessThan(BURST);
    await until(() => begun['Work']?.length === BURST);
  });

  it('do not start when they have ended while they waited', async () => {
    const client = connect();
    await ask(client, 'Echo');
    // The first call takes so long that all others time out before their turn.
    const streams = burst(client, 'Block', STREAMS / 2, { 'grpc-timeout': `${BLOCK_MS / 2}m` });
    await until(() => streams.every(({ closed }) => closed));
    expect(begun['Block']).toHaveLength(1);
    expect(endedBefore).toBe(0);
  });
});

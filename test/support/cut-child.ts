// A gRPC server in a process of its own, so that a test can tell when it does nothing any more. Its one method answers
// with a large reply when it is told to. Says its port; then, asked for it, how many calls it has, answers some of
// them, cuts all, says how many connections it has, and drains.
import { subscribe } from 'node:diagnostics_channel';
import { Socket } from 'node:net';
import { createByteBudgets } from '../../src/transport/byte-budgets.ts';
import type { Call } from '../../src/transport/grpc/wire/call.ts';
import { frame } from '../../src/transport/grpc/wire/framing.ts';
import { WireServer } from '../../src/transport/grpc/wire/server.ts';

/** What is answered in one turn leaves as one piece, however large. */
const AT_A_TIME = 50;
const MUCH = 2 ** 30;
const REPLY = frame(new Uint8Array(58_000));
const NOT_OK = { code: 'UNAVAILABLE', message: 'refused' } as const;

const calls: Call[] = [];
const nothing = (): void => undefined;
const server = new WireServer({
  methods: [
    {
      kind: 'unary',
      service: 'test.Service',
      name: 'Large',
      handle: (call) => {
        calls.push(call);
      },
    },
  ],
  meterOf: () => ({ started: nothing, received: nothing, sent: nothing, ended: nothing }),
  onRefused: nothing,
  statusOf: () => NOT_OK,
  ...createByteBudgets({ requestBytesMax: MUCH, unsentBytesMax: MUCH }),
  refusals: {
    draining: NOT_OK,
    tooManyCalls: () => NOT_OK,
    displaced: () => NOT_OK,
    noRoom: NOT_OK,
    malformed: () => NOT_OK,
  },
  limits: {
    requestBytesMax: MUCH,
    streamsPerConnectionMax: 1000,
    streamsAtFirst: 1000,
    callsMax: { waiting: 1000, reading: 1000, working: 1000 },
    pingEveryMs: 60_000,
    pingTimeoutMs: 20_000,
    receiveMs: 60_000,
    lingerMs: 60_000,
  },
});
let connections = 0;
subscribe('net.server.socket', (accepted) => {
  const socket =
    typeof accepted === 'object' && accepted !== null && 'socket' in accepted ? accepted.socket : undefined;
  if (!(socket instanceof Socket)) return;
  connections += 1;
  socket.once('close', () => {
    connections -= 1;
  });
});
process.on('message', (asked) => {
  if (asked === 'calls') process.send?.(calls.length);
  if (asked === 'answer') {
    const waiting = calls.filter(({ ended }) => !ended);
    for (const call of waiting.slice(0, AT_A_TIME)) call.reply(Buffer.from(REPLY));
    process.send?.(waiting.length);
  }
  if (asked === 'connections') process.send?.(connections);
  if (asked === 'cut') {
    for (const call of calls) call.cut();
    process.send?.('cut');
  }
  if (asked === 'drain') void server.drain(0).then(() => process.send?.('drained'));
});
process.send?.(await server.listen({ host: '127.0.0.1', port: 0 }));

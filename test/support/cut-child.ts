// A gRPC server in a child process, so that a test can tell when it is idle. Its only method returns a large reply on
// request of the test. It reports its port; then, on request, it reports the number of calls, answers some of them,
// cuts all others, reports the number of connections, and drains.
import { subscribe } from 'node:diagnostics_channel';
import { Socket } from 'node:net';
import type { Call } from '../../src/transport/grpc/wire/call.ts';
import { frame } from '../../src/transport/grpc/wire/framing.ts';
import { startWireServer } from './wire-server.ts';

/** Replies of one event-loop turn are sent as one piece, regardless of their size. */
const AT_A_TIME = 50;
const MUCH = 2 ** 30;
const REPLY = frame(new Uint8Array(58_000));

const calls: Call[] = [];
const { server, port } = await startWireServer({
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
  limits: { requestBytesMax: MUCH, streamsPerConnectionMax: 1000 },
});
let connections = 0;
subscribe('net.server.socket', (accepted) => {
  const socket =
    typeof accepted === 'object' && accepted !== null && 'socket' in accepted ? accepted.socket : undefined;
  if (!(socket instanceof Socket)) return;
  connections += 1;
  socket.once('close', () => void (connections -= 1));
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
process.send?.(port);

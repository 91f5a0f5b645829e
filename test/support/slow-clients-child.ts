// Runs clients in a child process that keep connections open and send slowly, incompletely or nothing. The first
// argument is a `SlowClients` as JSON. It prints `open` when all are connected, `closed <milliseconds>` for each
// connection that the server closes, and, for HTTP/2, `reset <milliseconds>` for each stream that the server resets.
import { connect } from 'node:net';
import { Frames } from './http2-frames.ts';

export interface SlowClients {
  readonly port: number;
  readonly count: number;
  /** Base64, sent immediately. */
  readonly begins: string;
  /** Sent afterwards, one byte at a time, repeatedly. Each character is one byte. */
  readonly goesOn?: string;
  /** Number of bytes to send at a time; default 1. */
  readonly atATime?: number;
  readonly everyMs?: number;
  /** Received data is not read. */
  readonly reads?: false;
  /** Received data is parsed as HTTP/2 frames. */
  readonly isHttp2?: true;
}

const given: SlowClients = JSON.parse(process.argv[2] ?? '{}');
const { port, count, begins, goesOn, atATime = 1, everyMs = 100, reads, isHttp2 } = given;
const first = Buffer.from(begins, 'base64');
let open = 0;

function dial(): void {
  const socket = connect(port, '127.0.0.1');
  const beganMs = performance.now();
  let sent = 0;
  const next = (rest: string): void => {
    const from = (sent++ * atATime) % rest.length;
    socket.write(rest.slice(from, from + atATime), 'latin1');
  };
  const sending = goesOn === undefined ? undefined : setInterval(() => next(goesOn), everyMs);
  socket.on('connect', () => {
    if (first.length > 0) socket.write(first);
    open += 1;
    if (open === count) process.stdout.write('open\n');
  });
  if (reads !== false) socket.resume();
  if (isHttp2) {
    const frames = new Frames(socket);
    let told = 0;
    socket.on('data', () => {
      for (; told < frames.resets.length; told++)
        process.stdout.write(`reset ${Math.round(performance.now() - beganMs)}\n`);
    });
  }
  socket.on('error', () => undefined);
  socket.on('close', () => {
    clearInterval(sending);
    process.stdout.write(`closed ${Math.round(performance.now() - beganMs)}\n`);
  });
}

// Unread sockets do not keep a process alive.
setInterval(() => undefined, 1_000);

// With more at a time, the kernel of a busy machine reports some as connected that never reach the server.
for (let begun = 0; begun < count; begun += 50)
  setTimeout(() => {
    for (let n = begun; n < Math.min(count, begun + 50); n++) dial();
  }, begun);

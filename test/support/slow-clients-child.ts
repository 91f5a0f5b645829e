// Clients that keep connections and ask slowly, by halves or not at all, in a process of their own. The first argument
// is a `SlowClients` as JSON. Prints `open` when all are connected, and `closed <milliseconds>` for each that was
// closed; of HTTP/2 `reset <milliseconds>` for each whose stream was.
import { connect } from 'node:net';
import { Frames } from './http2-frames.ts';

export interface SlowClients {
  readonly port: number;
  readonly count: number;
  /** Base64, sent at once. */
  readonly begins: string;
  /** Sent behind it, a byte at a time, for ever. Each character is one. */
  readonly goesOn?: string;
  /** So many bytes of that in the place of one. */
  readonly atATime?: number;
  readonly everyMs?: number;
  /** What comes is left where it is. */
  readonly reads?: false;
  /** What comes is frames of HTTP/2, and is looked at. */
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

// Sockets that are not read keep no process alive.
setInterval(() => undefined, 1_000);

// More at a time, and the kernel of a busy machine takes some for connected of which the server never hears.
for (let begun = 0; begun < count; begun += 50)
  setTimeout(() => {
    for (let n = begun; n < Math.min(count, begun + 50); n++) dial();
  }, begun);

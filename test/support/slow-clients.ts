/** Starts clients in a child process that send slowly, incompletely or nothing (slow-clients-child.ts). */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { ACKNOWLEDGEMENT, frameOf, grpcHeaders, PREFACE, SETTINGS_FRAME } from './http2-frames.ts';
import { framed, prefix } from './raw-grpc.ts';
import type { SlowClients } from './slow-clients-child.ts';
import { endWithTest } from './test-scope.ts';

export interface Slow {
  /** Resolves when all are connected. */
  readonly open: Promise<void>;
  /** Lifetime in milliseconds of each closed connection. */
  readonly closedMs: number[];
  /** The same for each reset HTTP/2 stream. */
  readonly resetMs: number[];
}

export function startSlowClients(clients: Omit<SlowClients, 'begins'> & { readonly begins: string | Buffer }): Slow {
  const begins = Buffer.from(clients.begins).toString('base64');
  const script = new URL('slow-clients-child.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [script, JSON.stringify({ ...clients, begins })], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  endWithTest(child);
  const [closedMs, resetMs]: [number[], number[]] = [[], []];
  const open = Promise.withResolvers<void>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line === 'open') open.resolve();
    else (line.startsWith('reset') ? resetMs : closedMs).push(Number(line.split(' ')[1]));
  });
  return { open: open.promise, closedMs, resetMs };
}

export const HALF_REQUEST = 'GET /health HTTP/1.1\r\nHost: localhost\r\n';
export const IDLE_GRPC: Buffer = Buffer.concat([PREFACE, SETTINGS_FRAME, ACKNOWLEDGEMENT]);

const [DATA, HEADERS, SETTINGS, WINDOW_UPDATE] = [0, 1, 4, 8];
const [END_STREAM, END_HEADERS] = [1, 4];
const framesOf = (type: number, flags: number, stream: number, payload: Uint8Array): Buffer =>
  frameOf({ type, flags, stream, payload });
const call = (path: string): Buffer => framesOf(HEADERS, END_HEADERS, 1, grpcHeaders(path));
const ONE_OF_DATA = framesOf(DATA, 0, 1, Buffer.from('x'));
/** SETTINGS_INITIAL_WINDOW_SIZE is 0. */
const NO_WINDOW = framesOf(SETTINGS, 0, 0, Buffer.of(0, 4, 0, 0, 0, 0));
const ONE_OF_WINDOW = framesOf(WINDOW_UPDATE, 0, 1, Buffer.of(0, 0, 0, 1));

type Trickle = Pick<SlowClients, 'goesOn' | 'atATime' | 'isHttp2'> & { readonly begins: Buffer };

function trickle(begins: readonly Buffer[], again: Buffer): Trickle {
  return {
    begins: Buffer.concat(begins),
    goesOn: again.toString('latin1'),
    atATime: again.length,
    isHttp2: true,
  };
}

/** A call that sends the five-byte prefix of a message, and then the message in frames of one byte. */
export function trickledCall(path: string): Trickle {
  return trickle([IDLE_GRPC, call(path), framesOf(DATA, 0, 1, prefix(9_000))], ONE_OF_DATA);
}

/** A call whose client accepts the reply one byte at a time, by the window of its stream. */
export function sippedCall(path: string, message: Uint8Array): Trickle {
  const asked = framesOf(DATA, END_STREAM, 1, framed(message));
  return trickle([PREFACE, NO_WINDOW, ACKNOWLEDGEMENT, call(path), asked], ONE_OF_WINDOW);
}

// Goal: streams that are cut off while nobody reads their connection are gone when the connection is (T8). Node's
// HTTP/2 would otherwise send their rest for ever. Method: a server in a process of its own, and a socket that is never
// read.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { until } from '../../../support/budget-time.ts';

const CHILD = join(import.meta.dirname, '../../../support/cut-child.ts');
/** More than the kernel takes for a socket that is not read, so that most of the replies are still in the server. */
const STREAMS = 500;
/** A server that does nothing any more does not answer. */
const ANSWER_MS = 10_000;
const WINDOW_MAX = 2 ** 31 - 1;
const WINDOW_FIRST = 65_535;

const FRAME = { DATA: 0, HEADERS: 1, SETTINGS: 4, WINDOW_UPDATE: 8 } as const;
const ACK = 1;
const END_STREAM = 1;
const END_HEADERS = 4;
const INITIAL_WINDOW_SIZE = 4;
const EMPTY_MESSAGE = new Uint8Array(5);

function http2Frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** A field of a header block: literal, without the tables of HPACK. */
function field(name: string, value: string): Buffer {
  return Buffer.concat([
    Uint8Array.of(0, name.length),
    Buffer.from(name),
    Uint8Array.of(value.length),
    Buffer.from(value),
  ]);
}

/** Opens the windows of connection and streams as wide as they go, and calls the method so many times. */
function requests(): Buffer {
  const headers = Buffer.concat([
    field(':method', 'POST'),
    field(':scheme', 'http'),
    field(':path', '/test.Service/Large'),
    field(':authority', 'test'),
    field('content-type', 'application/grpc'),
  ]);
  const setting = Buffer.concat([Uint8Array.of(0, INITIAL_WINDOW_SIZE), uint32(WINDOW_MAX)]);
  return Buffer.concat([
    Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
    http2Frame(FRAME.SETTINGS, 0, 0, setting),
    http2Frame(FRAME.SETTINGS, ACK, 0, Buffer.alloc(0)),
    http2Frame(FRAME.WINDOW_UPDATE, 0, 0, uint32(WINDOW_MAX - WINDOW_FIRST)),
    ...Array.from({ length: STREAMS }, (_, n) => [
      http2Frame(FRAME.HEADERS, END_HEADERS, 2 * n + 1, headers),
      http2Frame(FRAME.DATA, END_STREAM, 2 * n + 1, EMPTY_MESSAGE),
    ]).flat(),
  ]);
}

async function ask(child: ChildProcess, what: string): Promise<unknown> {
  const answer = once(child, 'message', { signal: AbortSignal.timeout(ANSWER_MS) });
  child.send(what);
  const [answered] = await answer;
  return answered;
}

it('are gone with their connection, and the server goes on (T8)', async () => {
  const child = fork(CHILD, [], { execArgv: ['--conditions=source'] });
  try {
    const [port] = await once(child, 'message');
    const socket = connect(Number(port), '127.0.0.1').pause();
    socket.on('error', () => undefined);
    socket.write(requests());
    await until(async () => (await ask(child, 'calls')) === STREAMS);
    await until(async () => (await ask(child, 'answer')) === 0);
    expect(await ask(child, 'cut')).toBe('cut');
    socket.destroy();
    await until(async () => (await ask(child, 'connections')) === 0);
    expect(await ask(child, 'drain')).toBe('drained');
  } finally {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
}, 30_000);

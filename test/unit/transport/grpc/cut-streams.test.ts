// Goal: streams that are cut off end with their connection (T8), although node:http2 would keep their data for ever.
// Method: a server in another process, and a client that does not read.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { until } from '../../../support/budget-time.ts';
import { ACKNOWLEDGEMENT, frameOf, grpcHeaders, PREFACE } from '../../../support/http2-frames.ts';

const CHILD = join(import.meta.dirname, '../../../support/cut-child.ts');
/** More replies than the kernel buffers for a socket that is not read, so that most are still in the server. */
const STREAMS = 500;
const ANSWER_MS = 10_000;
const WINDOW_MAX = 2 ** 31 - 1;
const WINDOW_FIRST = 65_535;
const [DATA, HEADERS, SETTINGS, WINDOW_UPDATE] = [0, 1, 4, 8];
const [END_STREAM, END_HEADERS] = [1, 4];

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** Opens the windows of connection and streams to their maximum, and calls the method for each stream. */
function requests(): Buffer {
  const headers = grpcHeaders('/test.Service/Large');
  // SETTINGS_INITIAL_WINDOW_SIZE.
  const setting = Buffer.concat([Uint8Array.of(0, 4), uint32(WINDOW_MAX)]);
  const wide = uint32(WINDOW_MAX - WINDOW_FIRST);
  return Buffer.concat([
    PREFACE,
    frameOf({ type: SETTINGS, flags: 0, stream: 0, payload: setting }),
    ACKNOWLEDGEMENT,
    frameOf({ type: WINDOW_UPDATE, flags: 0, stream: 0, payload: wide }),
    ...Array.from({ length: STREAMS }, (_, n) => [
      frameOf({ type: HEADERS, flags: END_HEADERS, stream: 2 * n + 1, payload: headers }),
      frameOf({ type: DATA, flags: END_STREAM, stream: 2 * n + 1, payload: new Uint8Array(5) }),
    ]).flat(),
  ]);
}

async function ask(child: ChildProcess, what: string): Promise<unknown> {
  const answer = once(child, 'message', { signal: AbortSignal.timeout(ANSWER_MS) });
  child.send(what);
  const [answered] = await answer;
  return answered;
}

it('cut streams end with their connection, and the server continues (T8)', async () => {
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

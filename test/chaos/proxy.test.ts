// Goal: the links of chaos on loopback can be closed one way and both, delayed and reset, and lose nothing else.
// Method: an echo behind a proxy; what has not come is known by what was sent later, on a link of its own, and has.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { ADDRESS_VARIABLE, PRELOADED } from '../../chaos/cluster/own-address.ts';
import { Proxy, type Way } from '../../chaos/cluster/proxy.ts';
import { testDir } from '../support/test-scope.ts';

const HOST = '127.0.0.1';
const POLL = { timeout: 20_000, interval: 5 };
const run = promisify(execFile);

class Wire {
  readonly socket: Socket;
  heard = '';
  /** Whether the other end has said that nothing more comes, and whether the connection is gone. */
  isEnded = false;
  isLost = false;

  constructor(port: number) {
    this.socket = connect({ host: HOST, port, allowHalfOpen: true });
    this.socket.setEncoding('utf8').on('data', (text: string) => {
      this.heard += text;
    });
    this.socket.on('end', () => {
      this.isEnded = true;
    });
    this.socket.on('close', () => {
      this.isLost = true;
    });
    this.socket.on('error', () => undefined);
    onTestFinished(() => void this.socket.destroy());
  }
}

interface Echo {
  readonly port: number;
  readonly heard: () => string;
}

/** Answers every word with itself, and an end with an end. */
async function echo(): Promise<Echo> {
  let heard = '';
  const sockets: Socket[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.setEncoding('utf8').on('data', (text: string) => {
      heard += text;
      socket.write(text);
    });
    socket.on('end', () => socket.end());
  });
  server.listen(0, HOST);
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, heard: () => heard };
}

interface Changing extends Way {
  isOpen: boolean;
  delayMs: number;
}

/** A proxy in front of an echo, with the two ways of its one link. */
async function link(): Promise<{ proxy: Proxy; port: number; behind: Echo; there: Changing; back: Changing }> {
  const behind = await echo();
  const there = { isOpen: true, delayMs: 0 };
  const back = { isOpen: true, delayMs: 0 };
  const target = { host: HOST, port: behind.port };
  const proxy = new Proxy({ target, number: 2, linkOf: () => ({ from: 1, there, back }) });
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  return { proxy, port: await proxy.listen(HOST, 0), behind, there, back };
}

/** So long as another link takes for there and back, a few times. */
async function meanwhile(): Promise<void> {
  const { port } = await link();
  for (const word of ['one', 'two', 'three']) {
    const wire = new Wire(port);
    wire.socket.write(word);
    await expect.poll(() => wire.heard, POLL).toBe(word);
  }
}

it('a link carries words and ends both ways', async () => {
  const { port, behind } = await link();
  const wire = new Wire(port);
  wire.socket.end('word');
  await expect.poll(() => [wire.heard, wire.isEnded, behind.heard()], POLL).toEqual(['word', true, 'word']);
});

it('what is sent on a closed way comes when it is open again, and nothing before', async () => {
  const { proxy, port, behind, there } = await link();
  const wire = new Wire(port);
  wire.socket.write('a');
  await expect.poll(() => wire.heard, POLL).toBe('a');
  there.isOpen = false;
  wire.socket.end('b');
  await meanwhile();
  expect([behind.heard(), wire.isLost]).toEqual(['a', false]);
  there.isOpen = true;
  proxy.goOn();
  await expect.poll(() => [wire.heard, wire.isEnded], POLL).toEqual(['ab', true]);
});

it('connections of a link are reset, and the next one is as good as new', async () => {
  const { proxy, port } = await link();
  const wire = new Wire(port);
  wire.socket.write('a');
  await expect.poll(() => wire.heard, POLL).toBe('a');
  proxy.reset((from) => from === 3);
  await meanwhile();
  expect(wire.isLost).toBe(false);
  proxy.reset((from) => from === 1);
  await expect.poll(() => wire.isLost, POLL).toBe(true);
  const next = new Wire(port);
  next.socket.write('b');
  await expect.poll(() => next.heard, POLL).toBe('b');
});

it('a node sends from the address that its environment names, on every thread', async () => {
  const from: string[] = [];
  const server = createServer((socket) => {
    from.push(socket.remoteAddress ?? '');
    socket.end();
  });
  server.listen(0, HOST);
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const dial = `import { connect } from 'node:net'; connect({ host: '${HOST}', port: ${port} }).resume();`;
  const file = join(testDir(), 'dial.mjs');
  const thread = `new Worker(new URL(${JSON.stringify(`data:text/javascript,${encodeURIComponent(dial)}`)}));`;
  writeFileSync(file, `import { Worker } from 'node:worker_threads';\n${dial}\n${thread}\n`);
  const env = { ...process.env, [ADDRESS_VARIABLE]: '127.77.1.2' };
  await run(process.execPath, [`--import=${PRELOADED}`, file], { env });
  expect(from).toEqual(['127.77.1.2', '127.77.1.2']);
});

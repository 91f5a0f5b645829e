// Goal: a node waits for a port that an outgoing connection holds, but not for one on which another process listens.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '#observability';
import { untilFree } from '../../../../src/main/ports/free-port.ts';

const HOST = '127.0.0.1';

describe('a port before it is bound', () => {
  let listening: Server;
  let accepted: Promise<Socket>;
  let port: number;
  let warned: string[];
  const logger = { ...silentLogger, warn: (event: string) => void warned.push(event) };

  beforeEach(async () => {
    warned = [];
    listening = createServer().listen(0, HOST);
    accepted = once(listening, 'connection').then(([socket]: Socket[]) => socket as Socket);
    await once(listening, 'listening');
    ({ port } = listening.address() as AddressInfo);
  });

  afterEach(async () => {
    if (listening.listening) listening.close();
  });

  // The system may give the port to another connection as soon as it is free, and that connection may last.
  it('is waited for while a connection that went out holds it', { retry: 2, timeout: 5_000 }, async () => {
    const outgoing = connect({ host: HOST, port });
    await once(outgoing, 'connect');
    const other = await accepted;
    const { localPort = 0 } = outgoing;
    const free = untilFree({ host: HOST, port: localPort }, logger);
    const state = (): Promise<string> => Promise.race([free.then(() => 'free'), Promise.resolve('held')]);
    await expect.poll(() => warned).toEqual(['port-held']);
    expect(await state()).toBe('held');
    // A reset leaves nothing behind.
    outgoing.resetAndDestroy();
    other.destroy();
    await free;
  });

  it('is not waited for when a process listens there', async () => {
    await untilFree({ host: HOST, port }, logger);
    expect(warned).toEqual([]);
  });
});

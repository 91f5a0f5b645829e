// Goal: a client that is rejected while it sends can read the reason, and the rest of its bytes is no request (TH1; RFC
// 9112, 9.6). Method: clients that send everything before they read.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LINGER_BYTES_MAX } from '../../../../src/transport/http/limits.ts';
import { type HttpWorld, startHttpWorld } from '../../../support/http-world.ts';
import { dial, parseReplies } from '../../../support/raw-http.ts';

const HEAD = 'POST /databases HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';
const PIECE = Buffer.alloc(2 ** 20, ' ');
const CHUNK = Buffer.concat([Buffer.from('100000\r\n'), PIECE, Buffer.from('\r\n')]);

let world: HttpWorld;

beforeAll(async () => {
  world = await startHttpWorld();
});

afterAll(() => world[Symbol.asyncDispose]());

async function heardAfter(head: string, pieces: readonly Uint8Array[]): Promise<string> {
  const socket = (await dial(world.server.address)).pause();
  for (const piece of [Buffer.from(head), ...pieces]) {
    await new Promise<void>((sent, fail) => socket.write(piece, (error) => (error ? fail(error) : sent())));
  }
  socket.setEncoding('latin1');
  let heard = '';
  for await (const text of socket) heard += String(text);
  return heard;
}

describe('a client that sends everything before it reads', () => {
  const many = Array.from({ length: 20 }, () => PIECE);

  it.each<readonly [string, string, readonly Uint8Array[], number]>([
    ['an announced body', `${HEAD}Content-Length: ${20 * PIECE.length}\r\n\r\n`, many, 413],
    ['a body in chunks', `${HEAD}Transfer-Encoding: chunked\r\n\r\n`, many.map(() => CHUNK), 413],
    ['text that is not HTTP', 'GARBAGE\r\n\r\n', many, 400],
    ['a header beyond all limits', `GET / HTTP/1.1\r\nHost: localhost\r\nx: ${'x'.repeat(200_000)}`, many, 400],
  ])('reads why %s was rejected', async (_what, head, pieces, status) => {
    const replies = parseReplies(await heardAfter(head, pieces));
    expect(replies.map((reply) => [reply.status, reply.headers.get('connection')])).toEqual([[status, 'close']]);
  });

  it('has no later bytes treated as a request', async () => {
    const body = '{"name":"behind"}';
    const create = Buffer.from(`${HEAD}Content-Length: ${body.length}\r\n\r\n${body}`);
    const heard = await heardAfter('GARBAGE\r\n\r\n', [PIECE, create, create]);
    expect(parseReplies(heard)).toHaveLength(1);
    expect(await world.client.get('/databases/behind')).toMatchObject({ status: 404 });
  });

  it('is cut off when it continues to send', async () => {
    const socket = (await dial(world.server.address)).pause();
    const closed = new Promise((resolve) => socket.on('error', () => undefined).on('close', resolve));
    socket.write(`${HEAD}Content-Length: 999999999\r\n\r\n`);
    let sentBytes = 0;
    const send = (): void => {
      sentBytes += PIECE.length;
      socket.write(PIECE, (error) => {
        if (error === null || error === undefined) send();
      });
    };
    send();
    await closed;
    expect(sentBytes).toBeGreaterThan(LINGER_BYTES_MAX);
    expect(sentBytes).toBeLessThan(2 * LINGER_BYTES_MAX);
  });
});

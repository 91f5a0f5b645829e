// Goal: a client can see whether a streamed body is complete (ADR 0115, TH7). Method: bodies that the test feeds, over
// real connections.
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DatabaseError } from '#base';
import { systemTimers } from '#service';
import { type BodyPart, type BodySource, deliver } from '../../../../src/transport/http/delivery.ts';
import type { Route } from '../../../../src/transport/http/route.ts';
import { until } from '../../../support/budget-time.ts';
import { type HttpWorld, startHttpWorld } from '../../../support/http-world.ts';
import { dial, exchange } from '../../../support/raw-http.ts';

const KIB = 1024;
const END: BodyPart = { kind: 'end' };
const FAILED = { kind: 'failed', error: new DatabaseError('not_found', 'There is no such page.') } as const;
const LAST_CHUNK = '\r\n0\r\n\r\n';

class FedSource implements BodySource {
  readonly #parts: BodyPart[];
  #waiting: ((part: BodyPart) => void) | undefined;
  isCancelled = false;
  askedCount = 0;

  constructor(...parts: readonly BodyPart[]) {
    this.#parts = [...parts];
  }

  feed(part: BodyPart): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting === undefined) this.#parts.push(part);
    else waiting(part);
  }

  next(): Promise<BodyPart> {
    this.askedCount++;
    const part = this.#parts.shift();
    if (part !== undefined) return Promise.resolve(part);
    return new Promise((resolve) => {
      this.#waiting = resolve;
    });
  }

  cancel(): void {
    this.isCancelled = true;
  }
}

function bytes(count: number): BodyPart {
  return { kind: 'bytes', bytes: new Uint8Array(count).fill(0x61) };
}

let source = new FedSource();
let world: HttpWorld;

const ROUTES: readonly Route[] = [
  {
    method: 'GET',
    path: '/body',
    handle: (request) =>
      deliver(source, {
        answer: { status: 200, headers: { vary: 'accept' }, contentType: 'text/csv' },
        isBuffered: !request.knowsChunks(),
        isHead: request.isHead(),
        firstMs: 10_000,
        signal: request.signal(),
        time: systemTimers,
      }),
  },
  {
    method: 'GET',
    path: '/other',
    handle: () => ({ status: 200, headers: {}, contentType: 'text/plain', body: 'other' }),
  },
];

beforeAll(async () => {
  world = await startHttpWorld({ routes: ROUTES });
});

afterAll(() => world[Symbol.asyncDispose]());

function ask(path: string, close: boolean = true): string {
  return `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${close ? 'Connection: close\r\n' : ''}\r\n`;
}

describe('a body over a connection', () => {
  it('that fails after its head ends without the last chunk, and ends its connection', async () => {
    source = new FedSource(bytes(257 * KIB));
    const whole = exchange(world.server.address, ask('/body', false), ask('/other'));
    await until(() => source.askedCount > 1);
    source.feed(FAILED);
    const text = await whole;
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    const told = [text.includes(LAST_CHUNK), text.includes('other'), text.includes('There is no such page')];
    expect(told).toEqual([false, false, false]);
    expect(world.logged).toEqual(['http-body-cut']);
    expect(world.fields.at(-1)).toMatchObject({ method: 'GET', route: '/body', error: FAILED.error });
  });

  it.each([
    ['before the head', 0, () => source.askedCount > 0],
    ['with a part of it', 257 * KIB, (count: number) => count > 0],
    ['with all parts so far', 257 * KIB, (count: number) => count > 257 * KIB],
  ])('is cancelled when the client leaves %s', async (_when, partBytes, isTime) => {
    source = partBytes === 0 ? new FedSource() : new FedSource(bytes(partBytes));
    const socket = await dial(world.server.address);
    let byteCount = 0;
    socket.on('data', (piece: Buffer) => (byteCount += piece.length));
    socket.write(ask('/body'));
    await until(() => isTime(byteCount));
    expect(source.isCancelled).toBe(false);
    const loggedBefore = [...world.logged];
    socket.destroy();
    await until(() => source.isCancelled);
    expect(world.logged).toEqual(loggedBefore);
  });

  it('is generated only as fast as the client reads', async () => {
    const partCount = 1000;
    source = new FedSource(...Array.from({ length: partCount }, () => bytes(32 * KIB)), END);
    const socket = await dial(world.server.address);
    socket.pause();
    socket.write(ask('/body'));
    let [before, turnCount] = [0, 0];
    await until(() => {
      turnCount = source.askedCount === before ? turnCount + 1 : 0;
      before = source.askedCount;
      return before > 0 && turnCount > 2000;
    });
    expect(source.askedCount).toBeLessThan(partCount / 2);
    let byteCount = 0;
    socket.on('data', (piece: Buffer) => (byteCount += piece.length));
    socket.resume();
    await once(socket, 'close');
    expect(byteCount).toBeGreaterThan(partCount * 32 * KIB);
  });
});

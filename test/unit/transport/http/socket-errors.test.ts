// Goal: failures of a connection that only time or a vanished client brings about are answered too, or not at all
// (TH1). Method: the handler on the server's end of a real connection.
import { createServer, type Socket } from 'node:net';
import { beforeEach, describe, expect, it } from 'vitest';
import { assert } from '#base';
import { RequestLines } from '../../../../src/transport/http/request-line.ts';
import { answerClientError } from '../../../../src/transport/http/socket-errors.ts';
import { exchange, parseReplies } from '../../../support/raw-http.ts';

/** What a client gets when its connection fails in this way as soon as it is made. */
async function carriedAfter(fail: (socket: Socket) => void): Promise<string> {
  const server = createServer(fail);
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const bound = server.address();
  assert(bound !== null && typeof bound === 'object', 'The server is bound to a port');
  const carried = await exchange(`http://127.0.0.1:${bound.port}`);
  server.close();
  return carried;
}

function failure(code: string): Error {
  return Object.assign(new Error('the words of the parser'), { code });
}

let malformedCount = 0;
const OPTIONS = {
  allowedOrigins: '*',
  lines: new RequestLines(1),
  onMalformed: () => {
    malformedCount++;
  },
} as const;

beforeEach(() => {
  malformedCount = 0;
});

describe('a connection that fails', () => {
  it.each([
    ['ERR_HTTP_REQUEST_TIMEOUT', 'request must arrive whole within 60000 ms'],
    ['HPE_HEADER_OVERFLOW', 'headers must be at most 1000, and at most 131072 bytes'],
    ['HPE_INVALID_METHOD', 'request must be well-formed HTTP/1.1'],
  ])('by %s is answered and ended', async (code, message) => {
    const carried = await carriedAfter((socket) => answerClientError(failure(code), socket, OPTIONS));
    expect(malformedCount).toBe(1);
    const [reply, ...more] = parseReplies(carried);
    expect(reply?.status).toBe(400);
    expect(reply?.headers.get('connection')).toBe('close');
    expect(JSON.parse(reply?.body ?? '')).toMatchObject({
      error: { code: 'INVALID_ARGUMENT', message: expect.stringContaining(message) },
    });
    expect(more).toEqual([]);
  });

  it('because the client is gone is only ended', async () => {
    expect(await carriedAfter((socket) => answerClientError(failure('ECONNRESET'), socket, OPTIONS))).toBe('');
    expect(malformedCount).toBe(0);
  });
});

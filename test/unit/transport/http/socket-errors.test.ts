// Goal: a connection that fails by a timeout or a parse error is answered, and one that was reset is not (TH1). Method:
// errors of sockets.
import { createServer, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { assert } from '#base';
import { RequestLines } from '../../../../src/transport/http/request-line.ts';
import { answerClientError } from '../../../../src/transport/http/socket-errors.ts';
import { exchange, parseReplies } from '../../../support/raw-http.ts';

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

it.each([
  ['ERR_HTTP_REQUEST_TIMEOUT', 'request must arrive whole within 60000 ms'],
  ['HPE_HEADER_OVERFLOW', 'headers must be at most 1000, and at most 131072 bytes'],
  ['HPE_INVALID_METHOD', 'request must be well-formed HTTP/1.1'],
])('a connection that fails by %s is answered and ended', async (code, message) => {
  let malformedCount = 0;
  const options = {
    allowedOrigins: '*',
    lines: new RequestLines(1),
    onMalformed: () => void malformedCount++,
  } as const;
  const carried = await carriedAfter((socket) => answerClientError(failure(code), socket, options));
  const [reply, ...more] = parseReplies(carried);
  expect([reply?.status, reply?.headers.get('connection'), more, malformedCount]).toEqual([400, 'close', [], 1]);
  const { error }: { error: object } = JSON.parse(reply?.body ?? '');
  expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringContaining(message) });
  expect(await carriedAfter((socket) => answerClientError(failure('ECONNRESET'), socket, options))).toBe('');
  expect(malformedCount).toBe(1);
});

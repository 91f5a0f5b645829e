/**
 * Clients that end their side of the connection behind what they ask, and still want their answer (`nc -N`, and others
 * that send a request like a file). Node would end the other side, too, and the answer with it.
 *
 * ```
 *   FIN ── nothing is being answered ──> the connection ends
 *    └──── an answer is being made ────> it is sent, and the connection ends
 *             └── not soon ── 100 Continue ── the client is there ──> asked again, until it is sent
 *                                  └── a reset: it is not ──> the work for it ends (TH7)
 * ```
 *
 * Who has closed the connection sends the same FIN. Only what is written to it tells the two apart, and an interim
 * answer may be written at any time, and be passed over (RFC 9110, section 15.2). HTTP/1.0 has none; what is asked
 * there is worked on to its end.
 *
 * Behind the head of a body in chunks there is another thing that says nothing: a zero in front of the length of the
 * next chunk, or of the last one (RFC 9112, section 7.1). It is written a few times at most: some read 16 digits and
 * no more.
 */
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { PRESENCE_ASK_MS } from './limits.ts';
import type { RequestLines } from './request-line.ts';

/** One is answered by a reset where nobody is there; the others are for who goes later. */
const ZEROS_MAX = 4;

/** Has the server answer such clients, and find out who is gone. */
export function answerHalfClosed(server: Server, lines: RequestLines): void {
  // As old as node:http, and in none of its documents: the tests of this would see it go.
  Object.assign(server, { httpAllowHalfOpen: true });
  const look = (socket: Socket): void => void socket.once('end', () => askWhetherThere(socket, lines));
  // Of the second kind there are none but with TLS; what is beneath them tells of no end.
  server.on('connection', look);
  server.on('secureConnection', look);
}

function askWhetherThere(socket: Socket, lines: RequestLines): void {
  let zeroCount = 0;
  const timer = setInterval(() => {
    const response = lines.handled(socket);
    if (response === undefined) clearInterval(timer);
    else if (takesInterim(response)) response.writeContinue();
    else if (isBetweenChunks(response, socket) && zeroCount++ < ZEROS_MAX) socket.write('0');
  }, PRESENCE_ASK_MS);
  socket.once('close', () => clearInterval(timer));
}

/** What Node writes of a body is whole chunks. */
function isBetweenChunks(response: ServerResponse, socket: Socket): boolean {
  const { headersSent, writableEnded, destroyed, chunkedEncoding, req } = response;
  return headersSent && !writableEnded && !destroyed && chunkedEncoding && req.method !== 'HEAD' && socket.writable;
}

function takesInterim(response: ServerResponse): boolean {
  return !response.headersSent && !response.destroyed && response.req.httpVersion === '1.1';
}

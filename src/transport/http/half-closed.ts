/**
 * Answers clients that close their side of the connection after the request and wait for the reply (`nc -N`, and others
 * that send a request like a file). Node would close the other side, too, and lose the reply.
 *
 * ```
 *   FIN ── no request in progress ──> the connection ends
 *    └──── a request in progress ──> the reply is sent, and the connection ends
 *             └── not soon ── 100 Continue ── the client is there ──> repeated until the reply is sent
 *                                  └── a reset: the client is gone ──> its work is cancelled (TH7)
 * ```
 *
 * A client that closed the connection entirely sends the same FIN. Only a write tells the two apart. Clients ignore an
 * interim response (RFC 9110, section 15.2). HTTP/1.0 has none, so its requests always run to their end.
 *
 * Inside a chunked body the probe is a zero before the length of the next chunk (RFC 9112, section 7.1). It is written
 * a few times at most, because some clients read no more than 16 digits.
 */
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { PRESENCE_ASK_MS } from './limits.ts';
import type { RequestLines } from './request-line.ts';

/** The first probe finds clients that are gone already, the others those that leave later. */
const ZEROS_MAX = 4;

/** Lets the server answer such clients, and detect those that are gone. */
export function answerHalfClosed(server: Server, lines: RequestLines): void {
  // `httpAllowHalfOpen` is undocumented, but as old as node:http; the tests would notice its removal.
  Object.assign(server, { httpAllowHalfOpen: true });
  const look = (socket: Socket): void => void socket.once('end', () => askWhetherThere(socket, lines));
  // Only TLS servers emit the second event; the sockets beneath TLS do not report the end.
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

/** Node writes whole chunks of a body. */
function isBetweenChunks(response: ServerResponse, socket: Socket): boolean {
  const { headersSent, writableEnded, destroyed, chunkedEncoding, req } = response;
  return headersSent && !writableEnded && !destroyed && chunkedEncoding && req.method !== 'HEAD' && socket.writable;
}

function takesInterim(response: ServerResponse): boolean {
  return !response.headersSent && !response.destroyed && response.req.httpVersion === '1.1';
}

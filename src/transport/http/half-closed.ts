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
 */
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { PRESENCE_ASK_MS } from './limits.ts';
import type { RequestLines } from './request-line.ts';

/** Has the server answer such clients, and find out who is gone. */
export function answerHalfClosed(server: Server, lines: RequestLines): void {
  // As old as node:http, and in none of its documents: the tests of this would see it go.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.on('connection', (socket: Socket) => {
    socket.once('end', () => askWhetherThere(socket, lines));
  });
}

function askWhetherThere(socket: Socket, lines: RequestLines): void {
  const timer = setInterval(() => {
    const response = lines.handled(socket);
    if (response === undefined) clearInterval(timer);
    else if (takesInterim(response)) response.writeContinue();
  }, PRESENCE_ASK_MS);
  socket.once('close', () => clearInterval(timer));
}

function takesInterim(response: ServerResponse): boolean {
  return !response.headersSent && !response.destroyed && response.req.httpVersion === '1.1';
}

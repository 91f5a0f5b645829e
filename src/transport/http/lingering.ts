/**
 * The end of a connection on which a client may still be sending (RFC 9112, section 9.6).
 *
 * ```
 *   the answer is written ── FIN ──> what comes is read and dropped ── the client has ended too ──> closed
 *                                                                  └── it goes on for too long ──> reset
 * ```
 *
 * A kernel that closes a socket with unread bytes resets the connection, and the kernel of the client then throws away
 * what the client has not read: the answer. A client that sends its whole request before it reads would not hear why it
 * was refused.
 */

import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { LINGER_BYTES_MAX, LINGER_MS } from './limits.ts';

/** Has node:http end the connection so, if it ends it behind the answer that is sent next. */
export function lingerAfterAnswer(socket: Socket): void {
  socket.destroySoon = () => endLingering(socket);
}

/** Sends the text, and nothing more; and ends the connection when the client does, or has had its time. */
export function endLingering(socket: Duplex, text?: string): void {
  if (socket.destroyed) return;
  let byteCount = 0;
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
  // Nobody takes what still comes for another request.
  socket.removeAllListeners('data');
  socket.on('data', (piece: Uint8Array) => {
    byteCount += piece.length;
    if (byteCount > LINGER_BYTES_MAX) socket.destroy();
  });
  socket.resume();
  if (text === undefined) socket.end();
  else socket.end(text);
}

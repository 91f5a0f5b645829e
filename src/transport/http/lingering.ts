/**
 * Closes a connection whose client may still be sending (RFC 9112, section 9.6).
 *
 * ```
 *   reply sent ── FIN ──> input is read and dropped ── the client closes ──> closed
 *                                                 └── timeout, or too many bytes ──> reset
 * ```
 *
 * A kernel that closes a socket with unread bytes resets the connection. The kernel of the client then discards the
 * reply, and a client that sends its whole request before it reads would not learn why it was refused.
 */

import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { LINGER_BYTES_MAX, LINGER_MS } from './limits.ts';

/** Lets node:http close the connection this way, if it closes it after the next reply. */
export function lingerAfterAnswer(socket: Socket): void {
  socket.destroySoon = () => endLingering(socket);
}

/** Sends the text and FIN. Closes the connection when the client does, or after a timeout. */
export function endLingering(socket: Duplex, text?: string): void {
  if (socket.destroyed) return;
  let byteCount = 0;
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
  // Input must not be parsed as another request.
  socket.removeAllListeners('data');
  socket.on('data', (piece: Uint8Array) => {
    byteCount += piece.length;
    if (byteCount > LINGER_BYTES_MAX) socket.destroy();
  });
  socket.resume();
  if (text === undefined) socket.end();
  else socket.end(text);
}

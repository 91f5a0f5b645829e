// HTTP as bytes on a socket, for requests that no client library would send, and for unprocessed replies.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A part that closes the client's sending side. */
export const HALF_CLOSE = 'half-close';

export interface RawReply {
  readonly status: number;
  /** Headers by lowercase name. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

export async function dial(address: string): Promise<Socket> {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  return socket;
}

/** Sends each part after the previous one was flushed, and reads to the end; `HALF_CLOSE` ends the sending side. */
export async function exchange(address: string, ...parts: readonly (string | Uint8Array)[]): Promise<string> {
  const { hostname, port } = new URL(address);
  const { promise, resolve } = Promise.withResolvers<string>();
  const socket = connect(Number(port), hostname);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  // A server that refuses a large request resets the connection while it is still being sent; its reply counts.
  socket.on('error', () => socket.destroy());
  socket.on('close', () => resolve(Buffer.concat(chunks).toString('latin1')));
  for (const part of parts) {
    if (part === HALF_CLOSE) socket.end();
    else await new Promise<void>((sent) => socket.write(part, () => sent()));
  }
  return promise;
}

/**
 * Splits the bytes of a connection into replies; bodies end by Content-Length or with the connection. Interim replies
 * have no body.
 */
export function parseReplies(text: string): readonly RawReply[] {
  const replies: RawReply[] = [];
  let rest = text;
  while (rest.length > 0) {
    const headEnd = rest.indexOf('\r\n\r\n');
    if (headEnd < 0) throw new Error(`not a reply: ${JSON.stringify(rest.slice(0, 200))}`);
    const [statusLine = '', ...lines] = rest.slice(0, headEnd).split('\r\n');
    const headers = new Map(lines.map(splitHeader));
    const bodyStart = headEnd + 4;
    const length = headers.get('content-length');
    const status = Number(statusLine.split(' ')[1]);
    const bodyEnd = status < 200 ? bodyStart : length === undefined ? rest.length : bodyStart + Number(length);
    replies.push({ status, headers, body: rest.slice(bodyStart, bodyEnd) });
    rest = rest.slice(bodyEnd);
  }
  return replies;
}

function splitHeader(line: string): readonly [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}

/**
 * Ends connections of HTTP/2 that send far more than their requests, such as WINDOW_UPDATE or RST_STREAM frames.
 *
 * libuv reads up to 2 MiB of a socket in a turn of the event loop. nghttp2 handles 160,000 such frames in it without
 * JavaScript, and every other connection waits. So the bytes that a connection has read are compared with those that
 * its requests and its replies explain:
 *
 * ```
 *   spare = at most 1 MiB of (spare + 256 KiB a second + bytes of requests + bytes sent / 8) - bytes read
 * ```
 * A client that is within its windows needs some 20 bytes for each KiB that it receives, and a few pings.
 */
import type { Socket } from 'node:net';

/** Bytes of headers and messages that a connection has sent since the last check. */
export interface RequestBytes {
  count: number;
}

interface Watched {
  readonly socket: Socket;
  readonly requests: RequestBytes;
  read: number;
  written: number;
  spare: number;
}

const SPARE_BYTES = 1024 * 1024;
const SPARE_BYTES_PER_SECOND = 256 * 1024;
/** Sent bytes that explain one received byte. */
const SENT_PER_READ = 8;
const LOOK_MS = 100;
/** The nine bytes before each of a few frames, and the overhead of a header besides its characters. */
const AROUND_REQUEST_BYTES = 64;
const AROUND_HEADER_BYTES = 4;

export class FrameFloods {
  readonly #watched = new Set<Watched>();
  readonly #onFlood: (socket: Socket) => void;
  #looking: NodeJS.Timeout | undefined;

  /** `onFlood` is called before the connection is closed. */
  constructor(onFlood: (socket: Socket) => void) {
    this.#onFlood = onFlood;
  }

  /** Begins with a connection that node:http2 is about to read. Returns the counter of its request bytes. */
  watch(socket: Socket): RequestBytes {
    const { bytesRead: read, bytesWritten: written } = socket;
    const watched = { socket, requests: { count: 0 }, read, written, spare: SPARE_BYTES };
    this.#watched.add(watched);
    this.#looking ??= setInterval(() => this.#look(), LOOK_MS).unref();
    socket.once('close', () => {
      this.#watched.delete(watched);
      if (this.#watched.size > 0) return;
      clearInterval(this.#looking);
      this.#looking = undefined;
    });
    return watched.requests;
  }

  #look(): void {
    for (const watched of this.#watched) {
      const { socket, requests } = watched;
      const { bytesRead, bytesWritten } = socket;
      const explained = requests.count + (bytesWritten - watched.written) / SENT_PER_READ;
      const allowed = watched.spare + (SPARE_BYTES_PER_SECOND * LOOK_MS) / 1_000 + explained;
      watched.spare = Math.min(SPARE_BYTES, allowed - (bytesRead - watched.read));
      watched.read = bytesRead;
      watched.written = bytesWritten;
      requests.count = 0;
      if (watched.spare >= 0 || socket.destroyed) continue;
      this.#onFlood(socket);
      socket.destroy();
    }
  }
}

/** Maximum bytes of a request before its message, from its raw headers: names and values alternating. */
export function headBytes(raw: readonly string[]): number {
  return raw.reduce((sum, text) => sum + text.length + AROUND_HEADER_BYTES, AROUND_REQUEST_BYTES);
}

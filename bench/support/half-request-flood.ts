/**
 * Clients that send a part of a large request and then nothing, and repeat that when the server ends it: over gRPC, or
 * on connections that do not acknowledge SETTINGS. They run in another thread, so that they do not delay the measuring
 * clients.
 */
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { frameOf, grpcHeaders, Http2Connection, PREFACE } from './http2-connection.ts';

export interface HalfRequests {
  readonly path: string;
  readonly host: string;
  readonly port: number;
  readonly connections: number;
  /** Concurrent requests per connection, if the server allows as many. */
  readonly requests: number;
  /** Bytes of each request; without acknowledgement, bytes of all requests of a connection together. */
  readonly bytes: number;
  /** True when clients acknowledge SETTINGS. */
  readonly isPolite: boolean;
}

export interface HalfRequestCounts {
  /** Number of started requests, or of connections without acknowledgement. */
  readonly begun: number;
  /** Number of them that the server has ended. */
  readonly ended: number;
}

const [HEADERS, SETTINGS] = [1, 4];
const END_HEADERS = 4;
/** Announced length of the incomplete message. */
const MESSAGE_BYTES = 1_000_000;
/** Pause before a client starts again. */
const REST_MS = 10;

/** A flood that runs until `stop`. */
export class RunningHalfRequests {
  readonly #worker: Worker;

  constructor(flood: HalfRequests) {
    this.#worker = new Worker(import.meta.filename, { workerData: flood, execArgv: ['--conditions=source'] });
  }

  async stop(): Promise<HalfRequestCounts> {
    const counts = new Promise<HalfRequestCounts>((resolve) => {
      this.#worker.once('message', resolve);
    });
    this.#worker.postMessage('stop', []);
    const counted = await counts;
    await this.#worker.terminate();
    return counted;
  }
}

class Sending {
  readonly #flood: HalfRequests;
  readonly #headers: Buffer;
  readonly #half: Buffer;
  readonly #counts = { begun: 0, ended: 0 };
  #isOver = false;

  constructor(flood: HalfRequests) {
    this.#flood = flood;
    this.#headers = grpcHeaders(flood.path);
    this.#half = Buffer.alloc(flood.bytes);
    this.#half.writeUInt32BE(MESSAGE_BYTES, 1);
    for (let n = 0; n < flood.connections; n++) this.#open();
  }

  stop(): HalfRequestCounts {
    this.#isOver = true;
    return this.#counts;
  }

  #open(): void {
    if (this.#flood.isPolite) this.#openAndAcknowledge().catch(() => this.#later(() => this.#open()));
    else this.#openAndBegin();
  }

  #later(again: () => void): void {
    if (!this.#isOver) setTimeout(again, REST_MS);
  }

  async #openAndAcknowledge(): Promise<void> {
    const { host, port } = this.#flood;
    const connection = await Http2Connection.open({ host, port });
    let isLost = false;
    const begin = (): void => {
      if (!connection.isOpen) {
        // All its requests end with the connection.
        if (!isLost) this.#open();
        isLost = true;
        return;
      }
      this.#counts.begun += 1;
      const onEnd = (): void => {
        this.#counts.ended += 1;
        this.#later(begin);
      };
      connection.callWithoutEnd(this.#headers, this.#half, { onEnd });
    };
    while (connection.streamsMax === 0 && connection.isOpen) await delay(REST_MS);
    for (let n = 0; n < Math.min(this.#flood.requests, connection.streamsMax); n++) begin();
  }

  /** Sends requests with only headers, which need no flow-control window. */
  #openAndBegin(): void {
    const { host, port, bytes } = this.#flood;
    const socket = connect({ host, port });
    const frames = [PREFACE, frameOf({ type: SETTINGS, flags: 0, stream: 0, payload: Buffer.alloc(0) })];
    const one = frameOf({ type: HEADERS, flags: END_HEADERS, stream: 1, payload: this.#headers });
    for (let sent = 0, stream = 1; sent < bytes; sent += one.length, stream += 2)
      frames.push(frameOf({ type: HEADERS, flags: END_HEADERS, stream, payload: this.#headers }));
    this.#counts.begun += 1;
    socket.on('error', () => undefined);
    socket.resume();
    socket.write(Buffer.concat(frames));
    socket.once('close', () => {
      this.#counts.ended += 1;
      this.#later(() => this.#open());
    });
  }
}

if (!isMainThread && parentPort !== null) {
  const port = parentPort;
  const sending = new Sending(workerData as HalfRequests);
  port.once('message', () => port.postMessage(sending.stop(), []));
}

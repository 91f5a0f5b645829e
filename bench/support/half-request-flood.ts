/**
 * Clients that send a part of a large request and then nothing, and the same again as soon as it is given up: over gRPC
 * to a method, or on connections whose settings they do not acknowledge. In a thread of its own, so that those who
 * measure are not late because of it.
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
  /** Of each connection, at a time, if it may open so many. */
  readonly requests: number;
  /** Of each request; of what is not acknowledged, all together. */
  readonly bytes: number;
  /** Whether it acknowledges settings. */
  readonly isPolite: boolean;
}

export interface HalfRequestCounts {
  /** Requests that were begun, or connections. */
  readonly begun: number;
  /** Those that the server has ended. */
  readonly ended: number;
}

const [HEADERS, SETTINGS] = [1, 4];
const END_HEADERS = 4;
/** Of the message that is begun. */
const MESSAGE_BYTES = 1_000_000;
/** Before it comes again. */
const REST_MS = 10;

/** Goes on until it is stopped. */
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
        // All that were under way end with it.
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

  /** Requests of headers alone, because no window is needed for these. */
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

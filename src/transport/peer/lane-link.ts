/**
 * One lane to one node: a connection of its own with one stream, opened again and again until it is closed.
 *
 * ```
 *   connecting ── answered by whom we mean ──> open ── broken, or ended by the other side ──> pausing ──> connecting
 *       └──────── refused ────────────────────────────────────────────────────────────────────> pausing
 * ```
 * The connection is the business of grpc-js, which dials with pauses of its own for as long as a stream waits for it.
 * Frames wait in the stream, which writes one at a time; their bytes are counted until they have left, and what is lost
 * with a stream counts no more (TP2).
 */
import {
  Client,
  type ClientWritableStream,
  credentials,
  type Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import type { Address } from '#base';
import type { FrameHeader, Lane } from '#cluster';
import {
  DELIVER,
  endAfter,
  greeting,
  type Hello,
  NOTHING,
  PING,
  readGreeting,
  readNothing,
  writeNothing,
  writeRequest,
} from './exchange.ts';
import type { PeerLimits } from './limits.ts';

export interface LaneListeners {
  opened(): void;
  /** An open lane broke. */
  lost(reason: string): void;
  /** The other side is not who is meant, or will not have us. */
  refused(reason: string): void;
  sent(bytes: number): void;
  /** A frame that was taken is gone. */
  dropped(): void;
}

export interface LaneLinkOptions {
  /** As `targetOf` writes it. */
  readonly target: string;
  readonly lane: Lane;
  /** Where this node listens itself, if others can dial that. */
  readonly address: Address | undefined;
  /** From this node to the other. */
  readonly header: FrameHeader;
  readonly limits: PeerLimits;
  /** From 0 up to 1, for the pauses. */
  readonly draw: () => number;
  readonly listeners: LaneListeners;
}

/** One try to have a stream, and the stream if it succeeds. */
interface Attempt {
  readonly call: ClientWritableStream<Uint8Array>;
  isOpen: boolean;
  waitingBytes: number;
  waitingFrames: number;
}

export class LaneLink {
  readonly #options: LaneLinkOptions;
  readonly #client: Client;
  #attempt: Attempt | undefined;
  #pause: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: LaneLinkOptions) {
    this.#options = options;
    this.#client = new Client(options.target, credentials.createInsecure(), clientOptions(options.limits));
    this.#connect();
  }

  get isOpen(): boolean {
    return this.#attempt?.isOpen === true;
  }

  /** Takes the frame, or says no. */
  send(frame: Uint8Array): boolean {
    const { limits, lane, listeners } = this.#options;
    const attempt = this.#attempt;
    if (this.#isClosed || attempt?.isOpen !== true) return false;
    if (attempt.waitingBytes + frame.length > limits.laneBytesMax[lane]) return false;
    attempt.waitingBytes += frame.length;
    attempt.waitingFrames += 1;
    attempt.call.write(frame, (failure: Error | null | undefined) => {
      // What waits in a stream that breaks is told so, and has been counted as dropped by then.
      if (attempt !== this.#attempt) return;
      attempt.waitingBytes -= frame.length;
      attempt.waitingFrames -= 1;
      if (failure === null || failure === undefined) listeners.sent(frame.length);
      else listeners.dropped();
    });
    return true;
  }

  /** Milliseconds of the way there and back; undefined when there was no answer. */
  ping(): Promise<number | undefined> {
    if (!this.isOpen) return Promise.resolve(undefined);
    const startedMs = performance.now();
    const { promise, resolve } = Promise.withResolvers<number | undefined>();
    const call = this.#client.makeUnaryRequest(PING, writeNothing, readNothing, NOTHING, (error) => {
      resolve(error === null ? performance.now() - startedMs : undefined);
    });
    endAfter(call, this.#options.limits.pingTimeoutMs, promise);
    return promise;
  }

  /** Takes nothing more; resolves when the other side has what was taken, or the time for that is over. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#pause);
    const attempt = this.#attempt;
    if (attempt?.isOpen === true && attempt.waitingFrames > 0) await this.#flushed(attempt);
    if (this.#attempt !== undefined) this.#end(this.#attempt);
    this.#client.close();
  }

  /** Ends the stream, and waits for the word that everything before its end has arrived. */
  #flushed({ call }: Attempt): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.#options.limits.flushMs);
      call.once('status', () => {
        clearTimeout(timer);
        resolve();
      });
      call.end();
    });
  }

  #connect(): void {
    const metadata = greeting(this.#options);
    metadata.setOptions({ waitForReady: true });
    const ended = (error: ServiceError | null): void => this.#ended(attempt, error);
    const call = this.#client.makeClientStreamRequest(DELIVER, writeRequest, readNothing, metadata, ended);
    const attempt: Attempt = { call, isOpen: false, waitingBytes: 0, waitingFrames: 0 };
    this.#attempt = attempt;
    call.on('metadata', (answer: Metadata) => this.#answered(attempt, answer));
    call.on('error', (error: Error) => this.#fail(attempt, error.message));
  }

  #answered(attempt: Attempt, answer: Metadata): void {
    if (attempt !== this.#attempt || attempt.isOpen) return;
    const hello = readGreeting(answer);
    const fault = hello.kind === 'failure' ? hello.reason : this.#faultIn(hello.value);
    if (fault !== undefined) return this.#refused(attempt, fault);
    attempt.isOpen = true;
    this.#options.listeners.opened();
  }

  /** Somebody answers at that address: is it who is meant? */
  #faultIn({ header: { clusterId, from } }: Hello): string | undefined {
    const { to, clusterId: ours } = this.#options.header;
    if (clusterId !== ours) return `it belongs to the cluster ${clusterId}`;
    return from.node === to.node && from.store === to.store
      ? undefined
      : `it is node ${from.node}, store ${from.store}`;
  }

  /** The other side ended the stream, or the connection broke. */
  #ended(attempt: Attempt, error: ServiceError | null): void {
    if (attempt !== this.#attempt) return;
    const isRefused = error !== null && !attempt.isOpen && error.code !== status.UNAVAILABLE;
    if (isRefused) this.#refused(attempt, error.details);
    else this.#fail(attempt, error === null ? 'it closed the stream' : error.details);
  }

  /** Nothing will be different in a moment. */
  #refused(attempt: Attempt, reason: string): void {
    this.#options.listeners.refused(reason);
    this.#again(attempt, this.#options.limits.backoffLastMs);
  }

  #fail(attempt: Attempt, reason: string): void {
    if (attempt !== this.#attempt) return;
    this.#again(attempt, this.#options.limits.backoffFirstMs);
    if (attempt.isOpen && !this.#isClosed) this.#options.listeners.lost(reason);
  }

  /** The attempt is over; the next follows after half to all of the pause. */
  #again(attempt: Attempt, pauseMs: number): void {
    this.#end(attempt);
    if (this.#isClosed) return;
    this.#pause = setTimeout(() => this.#connect(), (pauseMs * (1 + this.#options.draw())) / 2);
  }

  #end(attempt: Attempt): void {
    this.#attempt = undefined;
    attempt.call.cancel();
    for (let lost = attempt.waitingFrames; lost > 0; lost--) this.#options.listeners.dropped();
  }
}

function clientOptions(limits: PeerLimits): Record<string, number> {
  return {
    // Without it clients to the same address would share one connection.
    'grpc.use_local_subchannel_pool': 1,
    'grpc.keepalive_time_ms': limits.pingEveryMs,
    'grpc.keepalive_timeout_ms': limits.pingTimeoutMs,
    'grpc.initial_reconnect_backoff_ms': limits.backoffFirstMs,
    'grpc.max_reconnect_backoff_ms': limits.backoffLastMs,
    // The address of a pod that was replaced is another one soon.
    'grpc.dns_min_time_between_resolutions_ms': limits.backoffLastMs,
    'grpc.max_send_message_length': limits.messageBytesMax,
    // A retry would need every frame to be kept.
    'grpc.enable_retries': 0,
    'grpc.enable_http_proxy': 0,
    'grpc.service_config_disable_resolution': 1,
    'grpc.enable_channelz': 0,
  };
}

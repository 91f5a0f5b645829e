/**
 * One call on its HTTP/2 stream: what has arrived, what has been sent, and how it ended.
 *
 * ```
 *   open ── reply / finish / deadline ──> ended      (a status was sent)
 *     └──── peer resets or goes away ───> ended      (cancelled; nothing can be sent)
 * ```
 *
 * It ends exactly once (T1); whatever is sent afterwards is dropped. The signal of the call aborts at the end, however
 * it comes, so that work below stops. A writer that waits for `drained` keeps at most one chunk of its own unsent (T4).
 */
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { DatabaseError } from '#base';
import { asksForGzip } from './encoding.ts';
import { endingHeaders, REPLY_HEADERS, statusTrailers } from './headers.ts';
import type { Method, MethodMeter } from './method.ts';
import { type CallStatus, type GrpcStatusName, OK } from './status.ts';

/** A longer timer would fire at once; such a deadline is none. */
const TIMER_MS_MAX = 2 ** 31 - 1;
const OK_TRAILERS: Record<string, string> = statusTrailers(OK);
const WITH_TRAILERS = { waitForTrailers: true };
const TRAILERS_ONLY = { endStream: true };

export interface CallParts {
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  readonly method: Method;
  readonly meter: MethodMeter;
  readonly onEnded: (call: Call) => void;
}

export class Call {
  readonly headers: IncomingHttpHeaders;
  readonly method: Method;
  readonly #stream: ServerHttp2Stream;
  readonly #meter: MethodMeter;
  readonly #onEnded: (call: Call) => void;
  readonly #startedAt = performance.now();
  #ended = false;
  #requestComplete = false;
  #abort: AbortController | undefined;
  #timer: NodeJS.Timeout | undefined;
  #onDrained: (() => void) | undefined;

  constructor(parts: CallParts) {
    this.headers = parts.headers;
    this.method = parts.method;
    this.#stream = parts.stream;
    this.#meter = parts.meter;
    this.#onEnded = parts.onEnded;
    this.#meter.started();
    parts.stream.on('close', () => this.#closed());
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Aborts when the call ends, with the reason as a `DatabaseError`. */
  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      if (this.#ended) this.#abort.abort(callEnded('CANCELLED'));
    }
    return this.#abort.signal;
  }

  /** Whether replies are to be compressed. */
  get gzip(): boolean {
    return asksForGzip(this.headers);
  }

  header(name: string): string | undefined {
    const value = this.headers[name];
    return typeof value === 'string' ? value : undefined;
  }

  /** Ends the call with DEADLINE_EXCEEDED when the time is up. */
  startDeadline(timeoutMs: number): void {
    if (timeoutMs > TIMER_MS_MAX) return;
    this.#timer = setTimeout(() => {
      this.finish({ code: 'DEADLINE_EXCEEDED', message: `The deadline of ${timeoutMs} ms passed` });
    }, timeoutMs);
  }

  /** A message of the request has been read. */
  messageRead(): void {
    this.#meter.received();
  }

  /** The client has half-closed. */
  requestRead(): void {
    this.#requestComplete = true;
  }

  /** Sends the one framed message of a unary call and ends it with OK. */
  reply(framed: Uint8Array, headers: readonly string[], trailers: Record<string, string> = OK_TRAILERS): void {
    if (this.#ended || this.#stream.destroyed) return;
    this.#stream.respond(headers, WITH_TRAILERS);
    this.#stream.once('wantTrailers', () => this.#stream.sendTrailers(trailers));
    this.#stream.end(framed);
    this.#meter.sent(1);
    this.#end('OK');
  }

  /** Sends the headers of a stream of messages. */
  begin(headers: readonly string[] = REPLY_HEADERS): void {
    if (this.#ended || this.#stream.destroyed || this.#stream.headersSent) return;
    this.#stream.respond(headers, WITH_TRAILERS);
    this.#stream.on('drain', () => this.#onDrained?.());
  }

  /** Sends framed messages after `begin`. False: wait for `drained` before the next. */
  write(frames: Uint8Array, count: number): boolean {
    if (this.#ended || this.#stream.destroyed) return true;
    this.#meter.sent(count);
    return this.#stream.write(frames);
  }

  /** Resolves when everything written has left, or the call has ended. One waiter at a time. */
  drained(): Promise<void> {
    if (this.#ended || !this.#stream.writableNeedDrain) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onDrained = () => {
        this.#onDrained = undefined;
        resolve();
      };
    });
  }

  /** Ends the call with a status, after what has been written. */
  finish(status: CallStatus): void {
    if (this.#ended || this.#stream.destroyed) return;
    if (this.#stream.headersSent) this.#finishBody(status);
    else this.#finishAtOnce(status);
    this.#end(status.code);
  }

  #finishBody(status: CallStatus): void {
    this.#stream.once('wantTrailers', () => this.#stream.sendTrailers(statusTrailers(status)));
    this.#stream.end();
  }

  #finishAtOnce(status: CallStatus): void {
    this.#stream.respond(endingHeaders(status), TRAILERS_ONLY);
    // The rest of a request that is already answered is neither read nor kept.
    if (!this.#requestComplete) this.#stream.close(constants.NGHTTP2_NO_ERROR);
  }

  #closed(): void {
    if (!this.#ended) this.#end('CANCELLED');
    this.#onDrained?.();
  }

  #end(code: GrpcStatusName): void {
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#abort?.abort(callEnded(code));
    this.#onDrained?.();
    this.#meter.ended(code, (performance.now() - this.#startedAt) / 1000);
    this.#onEnded(this);
  }
}

function callEnded(code: GrpcStatusName): DatabaseError {
  return new DatabaseError('unavailable', `The call has ended: ${code}`);
}

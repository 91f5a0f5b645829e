/**
 * How a body that is still being made is answered (SPEC-HTTP-R11): whole when it is soon complete, in chunks when it is
 * not, and as an error as long as nothing of it has left.
 *
 * ```
 *  nothing          collecting             settling                    sent in chunks
 *   └─ first chunk ──▶ └─ 64 KiB are here ──▶ └─ no chunk for 20 ms ─────▶ as the client takes them
 *                      └──────── 100 ms after the first chunk, or 256 KiB ─▶
 *   the end, here or there: whole, with its length             later: the last chunk
 *   a failure, here or there: its status                       later: the connection is cut
 * ```
 * A client of HTTP/1.0 knows no chunks: for it the whole body is collected, in a limit of its own.
 *
 * Whoever makes the body is asked for one chunk at a time, and told when no more are wanted. How long a first chunk may
 * take is its own to say, as it is what a chunk costs; what a client waits for at most, and gets, is said here.
 */
import { Readable } from 'node:stream';
import { DatabaseError } from '#base';
import type { Timers } from '#service';
import {
  BODY_HEAD_BYTES,
  BODY_PAUSE_MS,
  BODY_SETTLE_MS,
  BODY_SETTLING_BYTES,
  BUFFERED_BYTES_MAX,
  BUFFERED_MS_MAX,
  STREAMED_BYTES_MAX,
  STREAMED_MS_MAX,
} from './limits.ts';
import type { HttpReply } from './reply.ts';

export type BodyPart =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'end' }
  | { readonly kind: 'failed'; readonly error: DatabaseError };

/** A body, as it comes. */
export interface BodySource {
  /** The next part; never asked for twice at a time, nor behind the end or a failure. */
  next(): Promise<BodyPart>;
  /** No more is wanted; may be said at any time, and more than once. */
  cancel(): void;
}

export type DeliveryTime = Pick<Timers, 'after' | 'monotonicMs'>;

export interface Delivery {
  /** Status, headers and content type of a success. */
  readonly answer: Omit<HttpReply, 'body' | 'stream'>;
  /** Whether the client knows no chunks. */
  readonly isBuffered: boolean;
  /** Whether it wants no body. */
  readonly isHead: boolean;
  /** What is left of the time for the request: for the first chunk. */
  readonly firstMs: number;
  /** Aborts when the client has gone. */
  readonly signal: AbortSignal;
  readonly time: DeliveryTime;
}

/** @throws DatabaseError when there is a failure before anything of the body has left; the reason of the signal. */
export async function deliver(source: BodySource, delivery: Delivery): Promise<HttpReply> {
  const { answer, isBuffered, isHead } = delivery;
  const body = new CollectedBody(source, delivery);
  const isWhole = await (isBuffered ? body.collectAll() : body.collectHead(delivery.firstMs));
  if (isWhole) return { ...answer, body: body.take() };
  if (!isHead) return { ...answer, stream: streamOf(source, body) };
  source.cancel();
  return answer;
}

class CollectedBody {
  readonly #source: BodySource;
  readonly #time: DeliveryTime;
  readonly #signal: AbortSignal;
  readonly #beganMs: number;
  #chunks: Uint8Array[] = [];
  #byteCount = 0;
  /** Asked for, and not there when the time was over. */
  #asked: Promise<BodyPart> | undefined;

  constructor(source: BodySource, { time, signal }: Delivery) {
    this.#source = source;
    this.#time = time;
    this.#signal = signal;
    this.#beganMs = time.monotonicMs();
  }

  get byteCount(): number {
    return this.#byteCount;
  }

  /** True: it is complete. False: the window is over. */
  async collectHead(firstMs: number): Promise<boolean> {
    if (this.#isEnd(await this.#nextBy(firstMs))) return true;
    const endsMs = this.#time.monotonicMs() + BODY_SETTLE_MS;
    while (this.#byteCount < BODY_SETTLING_BYTES) {
      const leftMs = endsMs - this.#time.monotonicMs();
      const waitMs = this.#byteCount < BODY_HEAD_BYTES ? leftMs : Math.min(leftMs, BODY_PAUSE_MS);
      const part = waitMs > 0 ? await this.#within(waitMs) : undefined;
      if (part === undefined) return false;
      if (this.#isEnd(part)) return true;
    }
    return false;
  }

  async collectAll(): Promise<true> {
    const endsMs = this.#beganMs + BUFFERED_MS_MAX;
    for (;;) {
      const part = await this.#nextBy(endsMs - this.#time.monotonicMs());
      if (this.#isEnd(part)) return true;
      if (this.#byteCount > BUFFERED_BYTES_MAX) throw this.#refusal(tooLong());
    }
  }

  /** What was collected, which is not held here any longer. */
  take(): Buffer {
    const whole = Buffer.concat(this.#chunks, this.#byteCount);
    this.#chunks = [];
    return whole;
  }

  /** The next part, which may have been asked for before. */
  next(): Promise<BodyPart> {
    const asked = this.#asked ?? this.#source.next();
    this.#asked = undefined;
    return asked;
  }

  /** Calls back when a body must have been sent. */
  onTimeUp(run: () => void): () => void {
    return this.#time.after(this.#beganMs + STREAMED_MS_MAX - this.#time.monotonicMs(), run);
  }

  async #nextBy(waitMs: number): Promise<BodyPart> {
    const part = waitMs > 0 ? await this.#within(waitMs) : undefined;
    if (part === undefined) throw this.#refusal(tooSlow());
    return part;
  }

  /** Keeps what it is. @throws DatabaseError when it is a failure. */
  #isEnd(part: BodyPart): boolean {
    if (part.kind === 'failed') throw part.error;
    if (part.kind === 'end') return true;
    this.#chunks.push(part.bytes);
    this.#byteCount += part.bytes.length;
    return false;
  }

  /** Undefined: it is not there in time. */
  async #within(waitMs: number): Promise<BodyPart | undefined> {
    const asked = this.next();
    this.#asked = asked;
    const { promise: over, resolve } = Promise.withResolvers<undefined>();
    const end = (): void => resolve(undefined);
    const stop = this.#time.after(waitMs, end);
    this.#signal.addEventListener('abort', end);
    const part = await Promise.race([this.#signal.aborted ? undefined : asked, over]);
    stop();
    this.#signal.removeEventListener('abort', end);
    if (this.#signal.aborted) this.#source.cancel();
    this.#signal.throwIfAborted();
    if (part !== undefined) this.#asked = undefined;
    return part;
  }

  #refusal(error: DatabaseError): DatabaseError {
    this.#source.cancel();
    return error;
  }
}

/** Chunks as they are taken. An error of the stream cuts the connection: what was sent is not the body. */
function streamOf(source: BodySource, body: CollectedBody): Readable {
  let byteCount = body.byteCount;
  const pull = async (stream: Readable): Promise<void> => {
    const part = await body.next();
    if (stream.destroyed) return;
    if (part.kind === 'end') stream.push(null);
    else if (part.kind === 'failed') stream.destroy(part.error);
    // Nothing is no chunk, and whoever reads would wait for the next one.
    else if (part.bytes.length === 0) await pull(stream);
    else take(stream, part.bytes);
  };
  const take = (stream: Readable, bytes: Uint8Array): void => {
    byteCount += bytes.length;
    if (byteCount > STREAMED_BYTES_MAX) stream.destroy(cutError('bytes'));
    else stream.push(bytes);
  };
  const stream = new Readable({
    highWaterMark: BODY_HEAD_BYTES,
    read() {
      void pull(this).catch((error: unknown) => this.destroy(error instanceof Error ? error : undefined));
    },
    destroy(error, done) {
      stop();
      source.cancel();
      done(error);
    },
  });
  const stop = body.onTimeUp(() => stream.destroy(cutError('ms')));
  stream.push(body.take());
  return stream;
}

function cutError(limit: 'bytes' | 'ms'): DatabaseError {
  const most = limit === 'bytes' ? `${STREAMED_BYTES_MAX} bytes` : `${STREAMED_MS_MAX} ms`;
  return new DatabaseError('unavailable', `The body is cut: it takes more than ${most}`);
}

function tooSlow(): DatabaseError {
  return new DatabaseError('unavailable', 'The body is not made in time; try again, or ask for less of it.', {
    details: { reason: 'DeadlineExceeded' },
  });
}

function tooLong(): DatabaseError {
  const message = `The body has more than ${BUFFERED_BYTES_MAX} bytes, which is the most over HTTP/1.0; ask over HTTP/1.1.`;
  return new DatabaseError('invalid_argument', message, { details: { reason: 'BodyTooLong' } });
}

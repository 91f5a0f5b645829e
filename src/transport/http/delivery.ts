/**
 * Sends a body while it is generated (SPEC-HTTP-R11): with its length when it is complete soon, in chunks when not,
 * and as an error while nothing was sent.
 *
 * ```
 *  nothing          collecting             settling                    sent in chunks
 *   └─ first chunk ──▶ └─ 64 KiB are here ──▶ └─ no chunk for 20 ms ─────▶ as the client takes them
 *                      └──────── 100 ms after the first chunk, or 256 KiB ─▶
 *   the end, up to here: sent with its length                  later: the last chunk
 *   a failure, up to here: its status                          later: the connection is cut
 * ```
 * HTTP/1.0 has no chunks: the whole body is collected, up to a limit of its own.
 *
 * The source of the body is asked for one chunk at a time, and closed when no more are wanted.
 */
import { Readable } from 'node:stream';
import { DatabaseError, type Timers } from '#base';
import type { Presented } from '#service';
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

/**
 * A body in parts. `next` is not called again before it resolves, or after the end or a failure; `cancel` may be called
 * at any time, repeatedly.
 */
export type BodySource = Presented['body'];
export type BodyPart = Awaited<ReturnType<BodySource['next']>>;

export type DeliveryTime = Pick<Timers, 'after' | 'monotonicMs'>;

export interface Delivery {
  readonly answer: Omit<HttpReply, 'body' | 'stream'>;
  /** True when the client does not support chunks. */
  readonly isBuffered: boolean;
  readonly isHead: boolean;
  /** Time left for the first chunk. */
  readonly firstMs: number;
  readonly signal: AbortSignal;
  readonly time: DeliveryTime;
}

/** @throws DatabaseError for a failure before anything was sent; the reason of the signal when that aborts */
export async function deliver(source: BodySource, delivery: Delivery): Promise<HttpReply> {
  const { answer, isBuffered, isHead } = delivery;
  const body = new CollectedBody(source, delivery);
  const isWhole = await (isBuffered ? body.collectAll() : body.collectHead(delivery.firstMs));
  if (isWhole) return { ...answer, body: body.take() };
  if (!isHead) return { ...answer, stream: body.toStream() };
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
  /** Requested, but not there when the time was over. */
  #asked: Promise<BodyPart> | undefined;

  constructor(source: BodySource, { time, signal }: Delivery) {
    this.#source = source;
    this.#time = time;
    this.#signal = signal;
    this.#beganMs = time.monotonicMs();
  }

  /** Returns whether the body is complete; false when the window ended first. */
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

  take(): Buffer {
    const whole = Buffer.concat(this.#chunks, this.#byteCount);
    this.#chunks = [];
    return whole;
  }

  /** Chunks at the pace of the client. An error cuts the connection, because the body is incomplete. */
  toStream(): Readable {
    const stream = new Readable({
      highWaterMark: BODY_HEAD_BYTES,
      read: () => {
        void this.#pull(stream).catch((error: unknown) => stream.destroy(error instanceof Error ? error : undefined));
      },
      destroy: (error, done) => {
        stop();
        this.#source.cancel();
        done(error);
      },
    });
    const leftMs = this.#beganMs + STREAMED_MS_MAX - this.#time.monotonicMs();
    const stop = this.#time.after(leftMs, () => stream.destroy(cutError('ms')));
    stream.push(this.take());
    return stream;
  }

  async #pull(stream: Readable): Promise<void> {
    const part = await this.#next();
    if (stream.destroyed) return;
    if (part.kind === 'end') stream.push(null);
    else if (part.kind === 'failed') stream.destroy(part.error);
    // An empty chunk would not wake the reader.
    else if (part.bytes.length === 0) await this.#pull(stream);
    else {
      this.#byteCount += part.bytes.length;
      if (this.#byteCount > STREAMED_BYTES_MAX) stream.destroy(cutError('bytes'));
      else stream.push(part.bytes);
    }
  }

  /** Returns the next part, which may have been requested before. */
  #next(): Promise<BodyPart> {
    const asked = this.#asked ?? this.#source.next();
    this.#asked = undefined;
    return asked;
  }

  async #nextBy(waitMs: number): Promise<BodyPart> {
    const part = waitMs > 0 ? await this.#within(waitMs) : undefined;
    if (part === undefined) throw this.#refusal(tooSlow());
    return part;
  }

  /** Collects a part. @throws DatabaseError for a failure */
  #isEnd(part: BodyPart): boolean {
    if (part.kind === 'failed') throw part.error;
    if (part.kind === 'end') return true;
    this.#chunks.push(part.bytes);
    this.#byteCount += part.bytes.length;
    return false;
  }

  /** Undefined when it does not arrive in time. */
  async #within(waitMs: number): Promise<BodyPart | undefined> {
    const asked = this.#next();
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
  const message = `The body has more than ${BUFFERED_BYTES_MAX} bytes, the limit over HTTP/1.0; ask over HTTP/1.1.`;
  return new DatabaseError('invalid_argument', message, { details: { reason: 'BodyTooLong' } });
}

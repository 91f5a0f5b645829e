/**
 * The reply of a call on its HTTP/2 stream: one message, or a stream of messages, and the status.
 *
 * ```
 *   none ── reply / finish ──────────────────> answered
 *     └── begin ──> begun ── finish / complete ──> answered, after what was written
 * ```
 *
 * Headers, frames and trailers are the same as those of grpc-js (ADR 0181).
 */
import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { giveBackFrames, giveBackWhole, PIECE_BYTES } from './framing.ts';
import { type CallStatus, type Fields, headersOf, OK, trailersOf } from './status.ts';

/** Headers, trailers and encoding of a reply. */
export interface ReplyFields {
  readonly headers?: Fields | undefined;
  readonly trailers?: Fields | undefined;
  /** Compression of the message; undefined: none. */
  readonly encoding?: string | undefined;
}

/** First headers of every reply, the same as in grpc-js; `grpc-encoding` follows them. */
const REPLY_HEADERS: readonly string[] = Object.entries({
  ':status': '200',
  'content-type': 'application/grpc+proto',
  'grpc-accept-encoding': 'identity,deflate,gzip',
}).flat();
const OK_TRAILERS: OutgoingHttpHeaders = trailersOf(OK);
const WAIT_FOR_TRAILERS = { waitForTrailers: true };

/** A piece of output, after all before it. */
interface Outgoing {
  readonly piece: Uint8Array;
  readonly left: () => void;
}

/** Shorter messages leave with the end of the stream. */
const SMALL_BYTES = 4096;

export class Output {
  readonly #stream: ServerHttp2Stream;
  #isAnswered = false;
  #hasBegun = false;
  /** Trailers of a stream of messages. */
  #trailers: OutgoingHttpHeaders = OK_TRAILERS;
  /** Pieces that node:http2 does not have yet; the previous one is being sent. */
  #outgoing: Outgoing[] = [];
  #isLeaving = false;

  constructor(stream: ServerHttp2Stream) {
    this.#stream = stream;
  }

  /**
   * Sends the one message, in its frame, and OK. The caller must not use it afterwards: a large one is freed. `left` is
   * called for each sent piece, with the number of unsent bytes.
   */
  reply(framed: Uint8Array, { headers, trailers, encoding }: ReplyFields, left: (restBytes: number) => void): void {
    if (!this.#answer()) return;
    const stream = this.#stream;
    stream.respond(listOf(headers, encoding), WAIT_FOR_TRAILERS);
    const all = trailers === undefined ? OK_TRAILERS : { ...OK_TRAILERS, ...trailers };
    stream.once('wantTrailers', () => stream.sendTrailers(all));
    if (framed.length < SMALL_BYTES) stream.end(framed);
    else this.#send(framed, 0, left);
  }

  /** The next piece; given several at once, node:http2 would report only the last of them as sent. */
  #send(framed: Uint8Array, from: number, left: (restBytes: number) => void): void {
    const stream = this.#stream;
    if (stream.destroyed || stream.closed) return;
    const to = Math.min(from + PIECE_BYTES, framed.length);
    stream.write(framed.subarray(from, to), (error) => {
      // The connection may still use the buffer of a failed write.
      if (error !== null && error !== undefined) return;
      left(framed.length - to);
      if (to < framed.length) this.#send(framed, to, left);
      else giveBackFrames(framed);
    });
    if (to === framed.length) stream.end();
  }

  /** Sends the headers of a stream of messages. */
  begin(headers: Fields, encoding: string | undefined): void {
    const stream = this.#stream;
    if (this.#isAnswered || stream.destroyed || stream.closed) return;
    this.#hasBegun = true;
    stream.respond(listOf(headers, encoding), WAIT_FOR_TRAILERS);
    stream.once('wantTrailers', () => stream.sendTrailers(this.#trailers));
  }

  /**
   * Sends framed messages after the previous ones, in pieces of bounded size, each after the last one was sent. `left`
   * is called for each piece that the socket has accepted, with the number of remaining bytes. The caller must not use
   * the frames or their memory afterwards: it is freed.
   */
  write(frames: Uint8Array, pieceBytesMax: number, left: (restBytes: number) => void): void {
    const count = Math.max(1, Math.ceil(frames.length / pieceBytesMax));
    const bytes = Math.ceil(frames.length / count);
    for (let from = 0, rest = count; rest > 0; from += bytes, rest--) {
      const piece = count === 1 ? frames : frames.subarray(from, from + bytes);
      const restBytes = Math.max(0, frames.length - from - bytes);
      const whole = rest === 1 ? frames : undefined;
      this.#outgoing.push({
        piece,
        left: () => {
          if (whole !== undefined) giveBackWhole(whole);
          left(restBytes);
        },
      });
    }
    if (!this.#isLeaving) this.#leave();
  }

  /** Hands over the next piece, or the end after the last one of an answered call. */
  #leave(): void {
    const stream = this.#stream;
    const next = this.#outgoing.shift();
    this.#isLeaving = next !== undefined;
    if (stream.destroyed || stream.closed) return;
    if (next === undefined) {
      if (this.#isAnswered) stream.end();
      return;
    }
    stream.write(next.piece, (error) => {
      // The connection may still use the buffer of a failed write.
      if (error !== null && error !== undefined) return;
      next.left();
      this.#leave();
    });
    // Together with the last piece, so that it is sent at once.
    if (this.#isAnswered && this.#outgoing.length === 0) stream.end();
  }

  /** Sends a status, after the messages of a stream. `isWhole`: the request has ended. */
  finish(status: CallStatus, isWhole: boolean): void {
    if (!this.#answer()) return;
    if (!this.#hasBegun) {
      this.#stream.respond(headersOf(status), { endStream: true });
      // The rest of a request is discarded without being read (RFC 9113, 8.1).
      if (!isWhole) this.#stream.close(constants.NGHTTP2_NO_ERROR);
      return;
    }
    this.#trailers = trailersOf(status);
    if (this.#outgoing.length === 0) this.#stream.end();
  }

  /** Drops what was not sent. */
  drop(): void {
    this.#outgoing = [];
  }

  /** Returns whether an answer can still be sent, and marks the call as answered. */
  #answer(): boolean {
    if (this.#isAnswered || this.#stream.destroyed || this.#stream.closed) return false;
    this.#isAnswered = true;
    return true;
  }
}

/** Names and values alternating, which is cheaper for node:http2 than an object. */
function listOf(headers: Fields | undefined, encoding: string = 'identity'): readonly string[] {
  const list = [...REPLY_HEADERS, 'grpc-encoding', encoding];
  for (const name in headers) {
    const value = headers[name];
    if (typeof value === 'string') list.push(name, value);
    else for (const each of value ?? []) list.push(name, each);
  }
  return list;
}

/**
 * Bodies while they arrive: counted as they come, never by what their headers announce, and given up when they do not.
 *
 * ```
 *   arriving ── all of it is here ───────────────────> handled
 *      ├── longer than the route takes ─────────────> 413
 *      ├── slower than the pace, or in crumbs ──────> 400
 *      └── no room for more ──> passed over ── the rest came, or a moment has passed ──> 503
 * ```
 *
 * Whoever announces a body and does not send it holds nothing (TM3). Of several that arrive together and do not fit
 * together, the one that grows first beyond what is left gives back what it has, and the others go on: none waits for
 * another (TM1). The rest of its bytes is read and dropped, because a client that is still sending would not hear why.
 */
import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { DatabaseError } from '#base';
import type { BudgetTime } from '../byte-budget.ts';
import { noRoom } from '../byte-budgets.ts';
import { GatheredBytes } from '../gathered-bytes.ts';
import { invalidField } from './errors.ts';
import { bodyBytesMax } from './form-request.ts';
import { BODY_PACE_BYTES, BODY_PACE_MS, BODY_PIECE_BYTES, BODY_SMALL_PIECES_MAX, SMALL_BODY_MS } from './limits.ts';
import { type HttpMemory, isBodyTooLong, UNCOUNTED_BYTES } from './memory.ts';

/** What comes of a body: an error, or its bytes. */
export type Received = (failure: Error | null, body?: Uint8Array) => void;

/** How many looks at a body there are in the time of its pace: one is always late by a part of it. */
const LOOKS_PER_PACE = 3;

const LOOK_EVERY_MS = BODY_PACE_MS / LOOKS_PER_PACE;

export class BodyIntake {
  readonly #memory: HttpMemory;
  readonly #time: BudgetTime;
  readonly #replies = new WeakMap<IncomingMessage, FastifyReply>();
  readonly #arriving = new Set<Arrival>();
  #stopLooking: (() => void) | undefined;

  constructor(memory: HttpMemory, time: BudgetTime) {
    this.#memory = memory;
    this.#time = time;
  }

  /** The error: a body of the announced length is not worth reading, because there is no room for it now. */
  admit(request: FastifyRequest, reply: FastifyReply): DatabaseError | undefined {
    this.#replies.set(request.raw, reply);
    return this.#memory.admitBody(request, reply);
  }

  /** Reads the body of a request that was let in. */
  receive(request: FastifyRequest, payload: IncomingMessage, received: Received): void {
    const reply = this.#replies.get(request.raw);
    const bytesMax = bodyBytesMax(request);
    if (reply === undefined || isBodyTooLong(request)) {
      received(this.#memory.refuseBody(longerThan(bytesMax, request.headers['content-length'])));
      return;
    }
    const isSmall = Number(request.headers['content-length'] ?? bytesMax) <= UNCOUNTED_BYTES;
    const arrival = new Arrival(payload, {
      bytesMax,
      paceBytes: isSmall ? Number.POSITIVE_INFINITY : BODY_PACE_BYTES,
      looksMax: isSmall ? SMALL_BODY_MS / LOOK_EVERY_MS : LOOKS_PER_PACE,
      count: (bytes) => this.#memory.bodyGrown(reply, bytes),
      drop: () => this.#memory.dropBody(reply),
      tooLong: () => this.#memory.refuseBody(longerThan(bytesMax)),
      received: (failure, body) => {
        this.#arriving.delete(arrival);
        received(failure, body);
      },
    });
    this.#arriving.add(arrival);
    this.#stopLooking ??= this.#time.every(LOOK_EVERY_MS, () => this.#look());
  }

  #look(): void {
    for (const arrival of this.#arriving) arrival.look();
    // Not as soon as there is none: nearly all come whole at once, one after the other.
    if (this.#arriving.size > 0) return;
    this.#stopLooking?.();
    this.#stopLooking = undefined;
  }
}

interface ArrivalOptions {
  readonly bytesMax: number;
  /** It is to bring so many in so many looks, or be whole. */
  readonly paceBytes: number;
  readonly looksMax: number;
  /** False when there is no room for so much of it. */
  readonly count: (bytes: number) => boolean;
  /** Its bytes are not held any more. */
  readonly drop: () => void;
  /** Refuses what is longer than `bytesMax`. */
  readonly tooLong: () => DatabaseError;
  /** Called once. */
  readonly received: Received;
}

/** One body. */
class Arrival {
  readonly #payload: IncomingMessage;
  readonly #options: ArrivalOptions;
  readonly #pieces: GatheredBytes;
  #pieceCount = 0;
  #isPassedOver = false;
  /** Bytes at the last look that found the pace kept, and looks since. */
  #pacedBytes = 0;
  #lookCount = 0;

  constructor(payload: IncomingMessage, options: ArrivalOptions) {
    this.#payload = payload;
    this.#options = options;
    this.#pieces = new GatheredBytes(Number(payload.headers['content-length'] ?? 0));
    payload.on('data', this.#onData).on('end', this.#onEnd).on('error', this.#onError).resume();
  }

  /** Looks whether it keeps the pace. Looks are counted, not time: a node that is late itself finds nobody slow. */
  look(): void {
    if (this.#isPassedOver) {
      this.#finish(noRoom());
      return;
    }
    this.#lookCount++;
    if (this.#pieces.byteCount - this.#pacedBytes >= this.#options.paceBytes) {
      this.#pacedBytes = this.#pieces.byteCount;
      this.#lookCount = 0;
    } else if (this.#lookCount > this.#options.looksMax) this.#finish(tooSlow());
  }

  readonly #onData = (piece: Uint8Array): void => {
    if (this.#isPassedOver) return;
    const byteCount = this.#pieces.byteCount + piece.length;
    this.#pieceCount++;
    if (byteCount > this.#options.bytesMax) this.#finish(this.#options.tooLong());
    else if (isCrumbled(this.#pieceCount, byteCount)) this.#finish(crumbled());
    else if (this.#options.count(byteCount)) this.#pieces.add(piece);
    else this.#passOver();
  };

  readonly #onEnd = (): void => {
    if (this.#isPassedOver) this.#finish(noRoom());
    else this.#finish(null, this.#pieces.take());
  };

  readonly #onError = (failure: Error): void => this.#finish(failure);

  #passOver(): void {
    this.#isPassedOver = true;
    this.#letGo();
  }

  #finish(failure: Error | null, body?: Uint8Array): void {
    this.#payload.off('data', this.#onData).off('end', this.#onEnd).off('error', this.#onError);
    if (failure !== null) this.#letGo();
    this.#options.received(failure, body);
  }

  #letGo(): void {
    this.#pieces.clear();
    this.#options.drop();
  }
}

/** `announced`: its length, by its header. */
function longerThan(bytesMax: number, announced?: string): string {
  const found = announced === undefined ? '' : `; found ${announced}`;
  return `must have at most ${bytesMax} bytes${found}`;
}

/** Each chunk of the sender's is a call of ours, however small it is. */
function isCrumbled(pieceCount: number, byteCount: number): boolean {
  return pieceCount > BODY_SMALL_PIECES_MAX && byteCount < pieceCount * BODY_PIECE_BYTES;
}

function crumbled(): DatabaseError {
  const bound = `must come in chunks of at least ${BODY_PIECE_BYTES} bytes on average`;
  return invalidField('body', `${bound} when there are more than ${BODY_SMALL_PIECES_MAX}`);
}

function tooSlow(): DatabaseError {
  const pace = `must arrive with at least ${BODY_PACE_BYTES} bytes in every ${BODY_PACE_MS} ms`;
  return invalidField('body', `${pace}; up to ${UNCOUNTED_BYTES} bytes within ${SMALL_BODY_MS} ms`);
}

/**
 * Receives bodies. Counts bytes as they arrive, not as the headers announce them, and refuses bodies that stop
 * arriving.
 *
 * ```
 *   arriving ── complete ───────────────────────────> handled
 *      ├── longer than the route allows ────────────> 413
 *      ├── slower than the pace, or in tiny chunks ─> 400
 *      └── no room in the budget ──> dropped ── the rest arrived, or a timeout ──> 503
 * ```
 *
 * A client that announces a body and does not send it holds no memory (TM3). When several bodies do not fit together,
 * the first that outgrows the budget releases its bytes, and the others continue: no body waits for another (TM1). The
 * rest of a refused body is read and dropped, because a client that is still sending would not read the reply.
 */
import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { noRoom } from '../byte-budgets.ts';
import { GatheredBytes } from '../gathered-bytes.ts';
import type { BudgetTime } from '../memory-budget.ts';
import { invalidField } from './errors.ts';
import { BODY_PACE_BYTES, BODY_PACE_MS, BODY_PIECE_BYTES, BODY_SMALL_PIECES_MAX, SMALL_BODY_MS } from './limits.ts';
import { type HttpMemory, UNCOUNTED_BYTES } from './memory.ts';

export type Received = (failure: Error | null, body?: Uint8Array) => void;

/** Checks of a body per period of the pace. More checks notice a slow body sooner. */
const LOOKS_PER_PACE = 3;

const LOOK_EVERY_MS = BODY_PACE_MS / LOOKS_PER_PACE;

/** Each chunk of the sender costs a call here, however small it is. */
const CHUNKS_RULE = `must come in chunks of at least ${BODY_PIECE_BYTES} bytes on average when there are more than ${BODY_SMALL_PIECES_MAX}`;
const PACE_RULE = `must arrive with at least ${BODY_PACE_BYTES} bytes in every ${BODY_PACE_MS} ms; up to ${UNCOUNTED_BYTES} bytes within ${SMALL_BODY_MS} ms`;

export class BodyIntake {
  readonly #memory: HttpMemory;
  readonly #time: BudgetTime;
  readonly #arriving = new Set<Arrival>();
  #stopLooking: (() => void) | undefined;

  constructor(memory: HttpMemory, time: BudgetTime) {
    this.#memory = memory;
    this.#time = time;
  }

  receive(request: FastifyRequest, payload: IncomingMessage, received: Received): void {
    const { reply } = request.entry;
    const bytesMax = this.#memory.bodyBytesMax(request);
    if (this.#memory.isBodyTooLong(request)) {
      received(this.#memory.refuseBody(longerThan(bytesMax, request.headers['content-length'])));
      return;
    }
    const isSmall = Number(request.headers['content-length'] ?? bytesMax) <= UNCOUNTED_BYTES;
    const arrival = new Arrival(payload, {
      memory: this.#memory,
      reply,
      bytesMax,
      paceBytes: isSmall ? Number.POSITIVE_INFINITY : BODY_PACE_BYTES,
      looksMax: isSmall ? SMALL_BODY_MS / LOOK_EVERY_MS : LOOKS_PER_PACE,
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
    // Stopped here and not with the last body: nearly all bodies arrive complete, one after the other.
    if (this.#arriving.size > 0) return;
    this.#stopLooking?.();
    this.#stopLooking = undefined;
  }
}

interface ArrivalOptions {
  readonly memory: HttpMemory;
  readonly reply: FastifyReply;
  readonly bytesMax: number;
  /** Bytes that must arrive within this number of checks. */
  readonly paceBytes: number;
  readonly looksMax: number;
  /** Called once. */
  readonly received: Received;
}

class Arrival {
  readonly #payload: IncomingMessage;
  readonly #options: ArrivalOptions;
  readonly #pieces: GatheredBytes;
  #pieceCount = 0;
  #isPassedOver = false;
  /** Bytes at the last check that found the pace kept, and checks since then. */
  #pacedBytes = 0;
  #lookCount = 0;

  constructor(payload: IncomingMessage, options: ArrivalOptions) {
    this.#payload = payload;
    this.#options = options;
    this.#pieces = new GatheredBytes(Number(payload.headers['content-length'] ?? 0));
    payload.on('data', this.#onData).on('end', this.#onEnd).on('error', this.#onError).resume();
  }

  /** Checks the pace. Counts checks instead of time, so that a late event loop does not make clients look slow. */
  look(): void {
    if (this.#isPassedOver) {
      this.#finish(noRoom());
      return;
    }
    this.#lookCount++;
    if (this.#pieces.byteCount - this.#pacedBytes >= this.#options.paceBytes) {
      this.#pacedBytes = this.#pieces.byteCount;
      this.#lookCount = 0;
    } else if (this.#lookCount > this.#options.looksMax) this.#finish(invalidField('body', PACE_RULE));
  }

  readonly #onData = (piece: Uint8Array): void => {
    if (this.#isPassedOver) return;
    const { memory, reply, bytesMax } = this.#options;
    const byteCount = this.#pieces.byteCount + piece.length;
    this.#pieceCount++;
    if (byteCount > bytesMax) this.#finish(memory.refuseBody(longerThan(bytesMax)));
    else if (this.#pieceCount > BODY_SMALL_PIECES_MAX && byteCount < this.#pieceCount * BODY_PIECE_BYTES) {
      this.#finish(invalidField('body', CHUNKS_RULE));
    } else if (memory.bodyGrown(reply, byteCount)) this.#pieces.add(piece);
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
    this.#options.memory.dropBody(this.#options.reply);
  }
}

/** `announced`: its length according to its header. */
function longerThan(bytesMax: number, announced?: string): string {
  const found = announced === undefined ? '' : `; found ${announced}`;
  return `must have at most ${bytesMax} bytes${found}`;
}

/** Counts the memory of HTTP requests before it is used: bodies until they are handled, replies until sent (TM1). */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DatabaseError } from '#base';
import type { Hold } from '../byte-budget.ts';
import { type ByteBudgets, noRoom } from '../byte-budgets.ts';
import type { Taker } from '../fair-budget.ts';
import { bodyBytesMax } from './form-request.ts';
import { SMALL_ANSWER_BYTES } from './limits.ts';

/** Bodies and replies up to this size are not counted: the limit of connections bounds them. */
export const UNCOUNTED_BYTES: number = 16 * 1024;

/** Reason of a refusal, for metrics. */
type RefusalReason = 'overload' | 'too_large';

/** Bytes of a small reply, as stored and as text. */
const SMALL_ANSWER_ROOM = 2 * SMALL_ANSWER_BYTES;

/** Size that was reserved: the requested one, or that of a small reply. */
export type AnswerRoom = 'enough' | 'small';

/** Reserves memory for the replies of a connection. */
interface Takers {
  readonly large: Taker;
  readonly small: Taker;
}

interface Held {
  body?: Hold | undefined;
  answer?: Hold | undefined;
}

export class HttpMemory {
  readonly #budgets: ByteBudgets;
  readonly #onRefused: (why: RefusalReason) => void;
  readonly #held = new WeakMap<FastifyReply['raw'], Held>();
  /** Holds by connection. The requests of one are answered in order. */
  readonly #takers = new WeakMap<object, Takers>();

  constructor(budgets: ByteBudgets, onRefused: (why: RefusalReason) => void) {
    this.#budgets = budgets;
    this.#onRefused = onRefused;
  }

  /**
   * Returns an error when there is no room now for the announced body, which is then not read. Announced bytes are not
   * counted: only bytes that arrive are held (TM3).
   */
  admitBody(request: FastifyRequest, reply: FastifyReply): DatabaseError | undefined {
    const bytes = announcedBytes(request);
    if (bytes <= UNCOUNTED_BYTES || this.#budgets.requests.hasRoom(bytes)) return undefined;
    // The rest of the body is not read.
    reply.raw.shouldKeepAlive = false;
    return this.#refuse();
  }

  /** Counts the bytes of a body so far. Returns false when there is no room for them. */
  bodyGrown(reply: FastifyReply, bytes: number): boolean {
    if (bytes <= UNCOUNTED_BYTES) return true;
    const known = this.#heldBy(reply).body;
    if (known?.tryGrow(bytes) === true) return true;
    const begun = known === undefined ? this.#budgets.requests.tryTake(bytes, () => this.#cut(reply)) : undefined;
    if (begun === undefined) this.#onRefused('overload');
    else this.#keep(reply, { body: begun });
    return begun !== undefined;
  }

  /** Releases the bytes of a body. */
  dropBody(reply: FastifyReply): void {
    this.#held.get(reply.raw)?.body?.release();
  }

  /** The body is complete; the node works with it from now on. */
  received(reply: FastifyReply): void {
    this.#held.get(reply.raw)?.body?.pin();
  }

  /** Waits for room for a reply of up to this size. */
  awaitRoom(reply: FastifyReply, bytes: number, signal: AbortSignal): Promise<void> {
    const { large } = this.#takersOf(reply);
    return this.#awaited(signal, async (wait) => {
      // Releases the room for a small reply, which was not enough.
      this.#held.get(reply.raw)?.answer?.release();
      this.#keep(reply, { answer: await large.take(bytes, () => this.#cut(reply), wait) });
    });
  }

  /**
   * Waits for room for a reply of up to this size, or for a small one, whichever comes first. Most replies that may be
   * large are small, and do not wait for large ones (TM4).
   */
  async awaitSomeRoom(reply: FastifyReply, bytes: number, signal: AbortSignal): Promise<AnswerRoom> {
    const { large, small } = this.#takersOf(reply);
    const cut = (): void => this.#cut(reply);
    const answer = large.takeNow(bytes, cut);
    if (answer !== undefined) {
      this.#keep(reply, { answer });
      return 'enough';
    }
    const first = await this.#awaited(signal, (wait) =>
      firstOf(wait, {
        enough: (undecided) => large.take(bytes, cut, undecided),
        small: (undecided) => small.take(SMALL_ANSWER_ROOM, cut, undecided),
      }),
    );
    this.#keep(reply, { answer: first.hold });
    return first.room;
  }

  async #awaited<Result>(signal: AbortSignal, take: (wait: AbortSignal) => Promise<Result>): Promise<Result> {
    const limit = AbortSignal.timeout(this.#budgets.waitMs);
    try {
      return await take(AbortSignal.any([signal, limit]));
    } catch (failure) {
      throw limit.aborted && !signal.aborted ? this.#refuse() : failure;
    }
  }

  /**
   * Counts a reply that is being sent. Returns an error when there is no room for it and the request was a read, so
   * that nothing is lost if it is not sent.
   */
  send(request: FastifyRequest, reply: FastifyReply, bytes: number): DatabaseError | undefined {
    const held = this.#heldBy(reply);
    held.body?.release();
    if (held.answer !== undefined) {
      held.answer.resize(bytes);
      held.answer.renew();
      return undefined;
    }
    if (bytes <= UNCOUNTED_BYTES) return undefined;
    const { large, small } = this.#takersOf(reply);
    const cut = (): void => this.#cut(reply);
    const answer =
      (bytes <= SMALL_ANSWER_BYTES ? small.tryTake(bytes, cut) : undefined) ??
      (request.method === 'GET' ? large.tryTake(bytes, cut) : large.takeAnyway(bytes, cut));
    if (answer === undefined) return this.#refuse();
    answer.renew();
    this.#keep(reply, { answer });
    return undefined;
  }

  /**
   * Reserves memory for a compressed copy of a reply. Returns false when there is none. The reply is not evicted while
   * the copy is made, because the node is working on it.
   */
  tryPack(reply: FastifyReply, bytes: number): boolean {
    const { answer } = this.#heldBy(reply);
    if (answer === undefined) return true;
    if (!answer.tryGrow(answer.bytes + bytes)) return false;
    answer.pin();
    return true;
  }

  /** The copy is made, of this length, and the original is dropped. From now on the reply can be evicted. */
  packed(reply: FastifyReply, bytes: number): void {
    const { answer } = this.#heldBy(reply);
    answer?.unpin();
    answer?.resize(bytes);
    answer?.renew();
  }

  /** A relayed reply passes through: this node holds no more of it than is left uncounted. */
  passing(reply: FastifyReply): void {
    this.#held.get(reply.raw)?.answer?.release();
  }

  /** Holds until the connection closes. If it is closed already, nothing is held (TM1). */
  #keep(reply: FastifyReply, part: Held): void {
    if (reply.raw.destroyed) release(part);
    else Object.assign(this.#heldBy(reply), part);
  }

  #heldBy(reply: FastifyReply): Held {
    const known = this.#held.get(reply.raw);
    if (known !== undefined) return known;
    const held: Held = {};
    this.#held.set(reply.raw, held);
    reply.raw.once('close', () => {
      if (reply.raw.writableFinished) held.answer?.taken();
      release(held);
    });
    return held;
  }

  #takersOf(reply: FastifyReply): Takers {
    const { socket } = reply.raw.req;
    const known = this.#takers.get(socket);
    if (known !== undefined) return known;
    const { unsent, smallPages } = this.#budgets;
    const takers = { large: unsent.taker(socket), small: smallPages.taker(socket) };
    this.#takers.set(socket, takers);
    return takers;
  }

  #cut(reply: FastifyReply): void {
    reply.raw.destroy();
    release(this.#heldBy(reply));
  }

  /** The error for a body that is too large, with the rule that it breaks. */
  refuseBody(fault: string): DatabaseError {
    this.#onRefused('too_large');
    return new DatabaseError('too_large', `The body ${fault}; send less in one request.`);
  }

  #refuse(): DatabaseError {
    this.#onRefused('overload');
    return noRoom();
  }
}

/** Waits for the first of two holds, and releases the other one. */
async function firstOf(
  signal: AbortSignal,
  waits: Readonly<Record<AnswerRoom, (undecided: AbortSignal) => Promise<Hold>>>,
): Promise<{ readonly room: AnswerRoom; readonly hold: Hold }> {
  const decided = new AbortController();
  const undecided = AbortSignal.any([signal, decided.signal]);
  let first: Hold | undefined;
  const awaited = async (room: AnswerRoom): Promise<{ readonly room: AnswerRoom; readonly hold: Hold }> => {
    const hold = await waits[room](undecided);
    first ??= hold;
    if (hold !== first) hold.release();
    return { room, hold };
  };
  try {
    return await Promise.race([awaited('enough'), awaited('small')]);
  } finally {
    decided.abort();
  }
}

function release({ body, answer }: Held): void {
  body?.release();
  answer?.release();
}

/** Whether the headers announce more than the route allows. Such a body is not read. */
export function isBodyTooLong(request: FastifyRequest): boolean {
  return Number(request.headers['content-length'] ?? 0) > bodyBytesMax(request);
}

/** Announced length; 0 when it is unknown, or too long, because such a body is not read. */
function announcedBytes(request: FastifyRequest): number {
  const { headers } = request;
  if (headers['transfer-encoding'] !== undefined || isBodyTooLong(request)) return 0;
  return Number(headers['content-length'] ?? 0);
}

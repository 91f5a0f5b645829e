/**
 * What the requests of HTTP hold in memory, counted before they hold it: bodies while they arrive and are worked on,
 * answers until they have left (TM1).
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DatabaseError } from '#base';
import type { Hold } from '../byte-budget.ts';
import { type ByteBudgets, noRoom } from '../byte-budgets.ts';
import type { Taker } from '../fair-budget.ts';
import { bodyBytesMax } from './form-request.ts';
import { SMALL_ANSWER_BYTES } from './limits.ts';

/** Bodies and answers up to this size are not counted: the bound on connections bounds them. */
export const UNCOUNTED_BYTES: number = 16 * 1024;

/** Why something was refused, as it is counted. */
type RefusalReason = 'overload' | 'too_large';

/** A small answer as it is stored and as text. */
const SMALL_ANSWER_ROOM = 2 * SMALL_ANSWER_BYTES;

/** For how large an answer there is room: for the one that was asked for, or for a small one only. */
export type AnswerRoom = 'enough' | 'small';

/** What takes the room for the answers of a connection. */
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
  /** By connection, whose requests are answered in turn. */
  readonly #takers = new WeakMap<object, Takers>();

  constructor(budgets: ByteBudgets, onRefused: (why: RefusalReason) => void) {
    this.#budgets = budgets;
    this.#onRefused = onRefused;
  }

  /**
   * The error: as things are, there is no room for the body that the headers announce, and it is not read. What was
   * announced is not counted: only what arrives is held (TM3).
   */
  admitBody(request: FastifyRequest, reply: FastifyReply): DatabaseError | undefined {
    const bytes = announcedBytes(request);
    if (bytes <= UNCOUNTED_BYTES || this.#budgets.requests.hasRoom(bytes)) return undefined;
    // Nobody wants to read the rest of it.
    reply.raw.shouldKeepAlive = false;
    return this.#refuse();
  }

  /** Counts so many bytes of the body, of which more may come. False: there is no room for them. */
  bodyGrown(reply: FastifyReply, bytes: number): boolean {
    if (bytes <= UNCOUNTED_BYTES) return true;
    const known = this.#heldBy(reply).body;
    if (known?.tryGrow(bytes) === true) return true;
    const begun = known === undefined ? this.#budgets.requests.tryTake(bytes, () => this.#cut(reply)) : undefined;
    if (begun === undefined) this.#onRefused('overload');
    else this.#keep(reply, { body: begun });
    return begun !== undefined;
  }

  /** What has arrived of the body is not held any more. */
  dropBody(reply: FastifyReply): void {
    this.#held.get(reply.raw)?.body?.release();
  }

  /** The body is here; from now on the node works with it. */
  received(reply: FastifyReply): void {
    this.#held.get(reply.raw)?.body?.pin();
  }

  /** Waits until there is room for an answer that may become so large. */
  awaitRoom(reply: FastifyReply, bytes: number, signal: AbortSignal): Promise<void> {
    const { large } = this.#takersOf(reply);
    return this.#awaited(signal, async (wait) => {
      // That for a small one, in which it was tried.
      this.#held.get(reply.raw)?.answer?.release();
      this.#keep(reply, { answer: await large.take(bytes, () => this.#cut(reply), wait) });
    });
  }

  /**
   * Waits until there is room for an answer that may become so large, or for a small one, whichever comes first: most
   * that might become large are small, and they do not wait for those that are (TM4).
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
   * Counts an answer that is being sent. The error: there is no room for it, and nothing is lost if it is not sent,
   * because the request was a read.
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
   * Takes room for what an answer that is being sent is made to, beside it; false: there is none. Nobody is cut off for
   * it while it is made, because the node works.
   */
  tryPack(reply: FastifyReply, bytes: number): boolean {
    const { answer } = this.#heldBy(reply);
    if (answer === undefined) return true;
    if (!answer.tryGrow(answer.bytes + bytes)) return false;
    answer.pin();
    return true;
  }

  /** It has become so long, and it alone is held: the client can let go again. */
  packed(reply: FastifyReply, bytes: number): void {
    const { answer } = this.#heldBy(reply);
    answer?.unpin();
    answer?.resize(bytes);
    answer?.renew();
  }

  /** An answer passes through that another node makes: no more of it is held here than what is not counted. */
  passing(reply: FastifyReply): void {
    this.#held.get(reply.raw)?.answer?.release();
  }

  /** Until the connection closes. If it has, the answer leaves for nobody, and nothing is held for it (TM1). */
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

  /** The error for a body that is too large, and in what. */
  refuseBody(fault: string): DatabaseError {
    this.#onRefused('too_large');
    return new DatabaseError('too_large', `The body ${fault}; send less in one request.`);
  }

  #refuse(): DatabaseError {
    this.#onRefused('overload');
    return noRoom();
  }
}

/** The first of two holds that are waited for; what comes of the other one is given back. */
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

/** Whether the headers announce more than the route takes, so that the body is refused without being read. */
export function isBodyTooLong(request: FastifyRequest): boolean {
  return Number(request.headers['content-length'] ?? 0) > bodyBytesMax(request);
}

/** Unknown, and taken for none, of a body without a length; one that is too long is refused without being read. */
function announcedBytes(request: FastifyRequest): number {
  const { headers } = request;
  if (headers['transfer-encoding'] !== undefined || isBodyTooLong(request)) return 0;
  return Number(headers['content-length'] ?? 0);
}

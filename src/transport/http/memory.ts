/**
 * What the requests of HTTP hold in memory, counted before they hold it: bodies while they arrive and are worked on,
 * answers until they have left (TM1).
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DatabaseError } from '#base';
import type { Hold } from '../byte-budget.ts';
import { type ByteBudgets, noRoom } from '../byte-budgets.ts';
import type { Taker } from '../fair-budget.ts';

/** Bodies and answers up to this size are not counted: the bound on connections bounds them. */
export const UNCOUNTED_BYTES: number = 16 * 1024;

/** Why something was refused, as it is counted. */
type RefusalReason = 'overload' | 'too_large';

interface Held {
  body?: Hold | undefined;
  answer?: Hold | undefined;
}

export class HttpMemory {
  readonly #budgets: ByteBudgets;
  readonly #onRefused: (why: RefusalReason) => void;
  readonly #held = new WeakMap<FastifyReply['raw'], Held>();
  /** By connection, whose requests are answered in turn. */
  readonly #takers = new WeakMap<object, Taker>();

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
  async awaitRoom(reply: FastifyReply, bytes: number, signal: AbortSignal): Promise<void> {
    const limit = AbortSignal.timeout(this.#budgets.waitMs);
    try {
      const wait = AbortSignal.any([signal, limit]);
      const hold = await this.#takerOf(reply).take(bytes, () => this.#cut(reply), wait);
      this.#keep(reply, { answer: hold });
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
    const taker = this.#takerOf(reply);
    const cut = (): void => this.#cut(reply);
    const answer = request.method === 'GET' ? taker.tryTake(bytes, cut) : taker.takeAnyway(bytes, cut);
    if (answer === undefined) return this.#refuse();
    answer.renew();
    this.#keep(reply, { answer });
    return undefined;
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
    reply.raw.once('close', () => release(held));
    return held;
  }

  #takerOf(reply: FastifyReply): Taker {
    const { socket } = reply.raw.req;
    const known = this.#takers.get(socket) ?? this.#budgets.unsent.taker(socket);
    this.#takers.set(socket, known);
    return known;
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

function release({ body, answer }: Held): void {
  body?.release();
  answer?.release();
}

/** Whether the headers announce more than the route takes, so that the body is refused without being read. */
export function isBodyTooLong({ headers, routeOptions }: FastifyRequest): boolean {
  return Number(headers['content-length'] ?? 0) > (routeOptions.bodyLimit ?? 0);
}

/** Unknown, and taken for none, of a body without a length; one that is too long is refused without being read. */
function announcedBytes(request: FastifyRequest): number {
  const { headers } = request;
  if (headers['transfer-encoding'] !== undefined || isBodyTooLong(request)) return 0;
  return Number(headers['content-length'] ?? 0);
}

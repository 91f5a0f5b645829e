/**
 * Counts the memory of HTTP requests before it is used: bodies until they are handled, replies until sent (TM1). A
 * client that loses its share to others (memory-budget.ts) is cut off here.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { assert, DatabaseError } from '#base';
import { type ByteBudgets, noRoom } from '../byte-budgets.ts';
import type { Account, Hold } from '../memory-budget.ts';
import { bodyBytesMax } from './form-request.ts';
import { SMALL_ANSWER_BYTES } from './limits.ts';

/** Bodies and replies up to this size are not counted: the limit of connections bounds them. */
export const UNCOUNTED_BYTES: number = 16 * 1024;

type RefusalReason = 'overload' | 'too_large';

/** Bytes of a small reply, as stored and as text. */
const SMALL_ANSWER_ROOM = 2 * SMALL_ANSWER_BYTES;

/** Makes a reply; undefined when it is larger. */
export type MakeInRoom<Made> = (bytesMax: number) => Promise<Made | undefined>;

/** Memory of a request: of its body, and of its reply. */
export interface Held {
  body?: Hold | undefined;
  answer?: Hold | undefined;
}

export class HttpMemory {
  readonly #budgets: ByteBudgets;
  readonly #onRefused: (why: RefusalReason) => void;

  constructor(budgets: ByteBudgets, onRefused: (why: RefusalReason) => void) {
    this.#budgets = budgets;
    this.#onRefused = onRefused;
  }

  /** Most bytes that the body may have: the limit of its route, or the memory that every connection can get. */
  bodyBytesMax(request: FastifyRequest): number {
    return Math.min(bodyBytesMax(request), this.#budgets.requests.commonBytes);
  }

  /** Returns whether the headers announce more than the body may have. Such a body is not read. */
  isBodyTooLong(request: FastifyRequest): boolean {
    return Number(request.headers['content-length'] ?? 0) > this.bodyBytesMax(request);
  }

  /**
   * Returns an error when there is no room now for the announced body, which is then not read. Announced bytes are not
   * counted: only bytes that arrive are held (TM3).
   */
  admitBody(request: FastifyRequest): DatabaseError | undefined {
    const { reply } = request.entry;
    const bytes = this.#announcedBytes(request);
    if (bytes <= UNCOUNTED_BYTES || this.#account('requests', reply).hasRoom(bytes)) return undefined;
    // The rest of the body is not read.
    reply.raw.shouldKeepAlive = false;
    return this.#refuse();
  }

  /** Announced length; 0 when it is unknown, or too long, because such a body is not read. */
  #announcedBytes(request: FastifyRequest): number {
    const { headers } = request;
    if (headers['transfer-encoding'] !== undefined || this.isBodyTooLong(request)) return 0;
    return Number(headers['content-length'] ?? 0);
  }

  /** Counts the bytes of a body so far. Returns false when there is no room for them. */
  bodyGrown(reply: FastifyReply, bytes: number): boolean {
    if (bytes <= UNCOUNTED_BYTES) return true;
    const known = heldBy(reply).body;
    if (known?.tryGrow(bytes) === true) return true;
    const begun =
      known === undefined ? this.#account('requests', reply).tryTake(bytes, () => this.#cut(reply)) : undefined;
    if (begun === undefined) this.#onRefused('overload');
    else this.#keep(reply, { body: begun });
    begun?.watch();
    return begun !== undefined;
  }

  dropBody(reply: FastifyReply): void {
    heldBy(reply).body?.release();
  }

  /** The body is complete; the node works with it from now on. */
  received(reply: FastifyReply): void {
    const { body } = heldBy(reply);
    body?.taken();
    body?.pin();
  }

  /**
   * Makes a reply of up to `bytes` when there is room for it, or for a small one: most replies that may be large are
   * small, and do not wait for large ones (TM4). `make` returns undefined when the reply is larger than its bound; then
   * it is made again when there is room.
   */
  async inRoom<Made>(
    reply: FastifyReply,
    { bytes, signal }: { readonly bytes: number; readonly signal: AbortSignal },
    make: MakeInRoom<Made>,
  ): Promise<Made> {
    const answer = this.#account('unsent', reply).tryTake(bytes, () => this.#cut(reply));
    if (answer !== undefined) this.#keep(reply, { answer });
    else {
      await this.#awaited(reply, this.#account('small', reply), SMALL_ANSWER_ROOM, signal);
      const small = await make(SMALL_ANSWER_BYTES);
      if (small !== undefined) return small;
      heldBy(reply).answer?.release();
      await this.#awaited(reply, this.#account('unsent', reply), bytes, signal);
    }
    const made = await make(Number.POSITIVE_INFINITY);
    assert(made !== undefined, 'A reply without a bound is within it');
    return made;
  }

  async #awaited(reply: FastifyReply, account: Account, bytes: number, signal: AbortSignal): Promise<void> {
    const limit = AbortSignal.timeout(this.#budgets.waitMs);
    try {
      const answer = await account.take(bytes, () => this.#cut(reply), AbortSignal.any([signal, limit]));
      this.#keep(reply, { answer });
    } catch (failure) {
      throw limit.aborted && !signal.aborted ? this.#refuse() : failure;
    }
  }

  /**
   * Counts a reply that is being sent. Returns an error when there is no room for it and the request was a read, so
   * that nothing is lost if it is not sent.
   */
  send(request: FastifyRequest, reply: FastifyReply, bytes: number): DatabaseError | undefined {
    const held = heldBy(reply);
    held.body?.release();
    if (held.answer !== undefined) {
      held.answer.resize(bytes);
      held.answer.watchEnd();
      return undefined;
    }
    if (bytes <= UNCOUNTED_BYTES) return undefined;
    const cut = (): void => this.#cut(reply);
    const large = this.#account('unsent', reply);
    const answer =
      (bytes <= SMALL_ANSWER_BYTES ? this.#account('small', reply).tryTake(bytes, cut) : undefined) ??
      (request.method === 'GET' ? large.tryTake(bytes, cut) : large.takeAnyway(bytes, cut));
    if (answer === undefined) return this.#refuse();
    answer.watchEnd();
    this.#keep(reply, { answer });
    return undefined;
  }

  /**
   * Reserves memory for a compressed copy of a reply. Returns false when there is none. The reply is not evicted while
   * the copy is made, because the node is working on it.
   */
  tryPack(reply: FastifyReply, bytes: number): boolean {
    const { answer } = heldBy(reply);
    if (answer === undefined) return true;
    if (!answer.tryGrow(answer.bytes + bytes)) return false;
    answer.pin();
    return true;
  }

  /** The copy is made, of this length, and the original is dropped. From now on the reply can be evicted. */
  packed(reply: FastifyReply, bytes: number): void {
    const { answer } = heldBy(reply);
    answer?.resize(bytes);
    answer?.watchEnd();
  }

  /** A relayed reply passes through: this node holds no more of it than is left uncounted. */
  passing(reply: FastifyReply): void {
    heldBy(reply).answer?.release();
  }

  /** Holds until the connection closes. If it is closed already, nothing is held (TM1). */
  #keep(reply: FastifyReply, part: Held): void {
    if (reply.raw.destroyed) release(part);
    else Object.assign(heldBy(reply), part);
  }

  /** The connection is closed. */
  closed(reply: FastifyReply): void {
    const held = heldBy(reply);
    if (reply.raw.writableFinished) held.answer?.taken();
    release(held);
  }

  #account(budget: 'requests' | 'unsent' | 'small', { raw }: FastifyReply): Account {
    return this.#budgets[budget].of(raw.req.socket);
  }

  #cut(reply: FastifyReply): void {
    reply.raw.destroy();
    release(heldBy(reply));
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

function heldBy({ request }: FastifyReply): Held {
  return request.entry.held;
}

function release({ body, answer }: Held): void {
  body?.release();
  answer?.release();
}

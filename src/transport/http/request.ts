/**
 * One request, as the routes see it: decoded path parameters, strict query parameters, raw body bytes, and a signal
 * that ends the work below when the client goes away (TH7). Routes know this class and nothing of fastify.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { DatabaseError } from '#base';
import type { Span, Traced } from '#observability';
import type { ReadRequest, RevisionFloor } from '#service';
import { shownBy } from '../relay.ts';
import type { SaidByForm } from './form-request.ts';
import type { AnswerRoom, HttpMemory } from './memory.ts';
import type { Privacy } from './privacy.ts';
import { parseQueryString, parseRevision, type QueryParameters } from './query-string.ts';
import { type ListSizes, listSizes, type Rendering, renderingFor } from './rendering/renderings.ts';
import type { Turns } from './turns.ts';

const NO_BODY = new Uint8Array(0);
const NOT_TRACED: Traced = {};

/** fastify's request with path parameters as the router leaves them: percent-decoded strings. */
export type RoutedRequest = FastifyRequest<{ Params: Readonly<Record<string, string | undefined>> }>;

/** What all requests of the server share. */
export interface RequestLimits {
  readonly memory: HttpMemory;
  readonly turns: Turns;
  readonly privacy: Privacy;
}

export class HttpRequest {
  readonly #request: RoutedRequest;
  readonly #reply: FastifyReply;
  readonly #limits: RequestLimits;
  readonly #traced: Traced;
  #said: SaidByForm | undefined;
  #controller: AbortController | undefined;
  #query: QueryParameters | undefined;
  /** Looked up once: the header may be long. */
  #rendering: { readonly found: Rendering | undefined } | undefined;

  /** `span`: what it is traced in. */
  constructor(request: RoutedRequest, reply: FastifyReply, limits: RequestLimits, span?: Span) {
    this.#request = request;
    this.#reply = reply;
    this.#limits = limits;
    this.#traced = span?.isRecorded === true ? { span } : NOT_TRACED;
  }

  /**
   * Waits until there is room for an answer that may become so large. Throws `busy` when there is none for too long.
   */
  awaitRoom(bytes: number): Promise<void> {
    return this.#limits.memory.awaitRoom(this.#reply, bytes, this.signal());
  }

  /** The same, or until there is room for a small answer: then the answer is made anew if it turns out to be larger. */
  awaitSomeRoom(bytes: number): Promise<AnswerRoom> {
    return this.#limits.memory.awaitSomeRoom(this.#reply, bytes, this.signal());
  }

  /** Does a piece of long work when it is its turn (TH11). Rejects without doing it when the client has gone. */
  inTurn<Result>(work: () => Result): Promise<Result> {
    const signal = this.signal();
    return this.#limits.turns.run(() => {
      signal.throwIfAborted();
      return work();
    });
  }

  /** A segment of the path, percent-decoded. Only names that the route's path declares are asked for. */
  param(name: string): string {
    return this.#request.params[name] ?? '';
  }

  /** The path as it was sent, without the query string. */
  path(): string {
    return this.#request.url.split('?', 1)[0] ?? '';
  }

  /** The query string with its `?`, as it was sent; empty when there is none. */
  search(): string {
    const { url } = this.#request;
    const mark = url.indexOf('?');
    return mark < 0 ? '' : url.slice(mark);
  }

  query(): QueryParameters {
    this.#query ??= parseQueryString(this.search().slice(1));
    return this.#query;
  }

  /** From now on it is what its form says. */
  fillIn(said: SaidByForm): void {
    this.#said = said;
  }

  header(name: string): string | undefined {
    if (this.#said?.headers.has(name) === true) return this.#said.headers.get(name);
    const value = this.#request.headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  }

  /** Of all headers that came, in lower case. */
  headerNames(): readonly string[] {
    return Object.keys(this.#request.headers);
  }

  /** In which a read is answered; undefined: JSON. */
  rendering(): Rendering | undefined {
    this.#rendering ??= { found: renderingFor(this.header('accept')) };
    return this.#rendering.found;
  }

  /** Of the lists of the answer to a read. */
  listSizes(): ListSizes {
    return listSizes(this.rendering());
  }

  /** All of them as they came, one behind the other. */
  headers(): readonly (readonly [name: string, value: string])[] {
    const { rawHeaders } = this.#request.raw;
    return rawHeaders.flatMap((name, place) => (place % 2 === 0 ? [[name, rawHeaders[place + 1] ?? ''] as const] : []));
  }

  /** Who but the one that asks may keep the answer. */
  privacy(): Privacy {
    return this.#limits.privacy;
  }

  /** Whether the client asks for the headers alone. */
  isHead(): boolean {
    return this.#request.method === 'HEAD';
  }

  /** Whether the client knows chunks, which those of HTTP/1.0 do not. */
  knowsChunks(): boolean {
    return this.#request.raw.httpVersion !== '1.0';
  }

  /** The bytes of the body, empty when there is none. */
  body(): Uint8Array {
    if (this.#said !== undefined) return this.#said.body;
    const body: unknown = this.#request.body;
    return body instanceof Uint8Array ? body : NO_BODY;
  }

  /** The error for a body that is too large, and in what. */
  refuseBody(fault: string): DatabaseError {
    return this.#limits.memory.refuseBody(fault);
  }

  /** What every read of a database says. `x-min-revision` asks for a node that has applied at least that revision. */
  read(): ReadRequest {
    const shown = shownBy((name) => this.header(name));
    const read = { databaseName: this.param('database'), signal: this.signal() };
    return { ...read, ...this.floor(), ...shown, ...this.#traced };
  }

  /** What a write says when it asks for the same. */
  floor(): RevisionFloor | undefined {
    const text = this.header('x-min-revision');
    if (text === undefined) return undefined;
    return { minRevision: parseRevision('x-min-revision', text), signal: this.signal() };
  }

  /** What a write is traced in, as a member of its request. */
  traced(): Traced {
    return this.#traced;
  }

  /** Aborts when the connection closes before the reply has been sent. */
  signal(): AbortSignal {
    if (this.#controller !== undefined) return this.#controller.signal;
    const controller = new AbortController();
    const response = this.#reply.raw;
    this.#controller = controller;
    if (response.destroyed) controller.abort();
    response.once('close', () => {
      if (!response.writableFinished) controller.abort();
    });
    return controller.signal;
  }
}

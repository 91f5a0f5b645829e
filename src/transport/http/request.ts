/**
 * A request as routes see it: decoded path parameters, strict query parameters, raw body bytes, and a signal that
 * cancels its work when the client disconnects (TH7). Routes use this class and nothing of fastify.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type DatabaseError, NO_BYTES } from '#base';
import type { Span, Traced } from '#observability';
import type { ReadRequest, RevisionFloor } from '#service';
import { shownBy } from '../relay.ts';
import type { WorkQueue } from '../work-queue.ts';
import type { SaidByForm } from './form-request.ts';
import type { Privacy } from './identities.ts';
import { JSON_SIZES, type ListSizes } from './limits.ts';
import type { HttpMemory, MakeInRoom } from './memory.ts';
import { parseQueryString, parseRevision, type QueryParameters } from './query-string.ts';
import { type Rendering, renderingFor } from './renderings.ts';

const NOT_TRACED: Traced = {};

/** A fastify request with percent-decoded path parameters. */
export type RoutedRequest = FastifyRequest<{ Params: Readonly<Record<string, string | undefined>> }>;

/** Parts that all requests of the server share. */
export interface RequestLimits {
  readonly memory: HttpMemory;
  readonly work: WorkQueue;
  readonly privacy: Privacy;
}

export interface WriteToDatabase extends Traced {
  readonly databaseName: string;
  readonly floor: RevisionFloor | undefined;
}

export class HttpRequest {
  readonly #request: RoutedRequest;
  readonly #reply: FastifyReply;
  readonly #limits: RequestLimits;
  readonly #traced: Traced;
  #said: SaidByForm | undefined;
  #controller: AbortController | undefined;
  #query: QueryParameters | undefined;
  /** Read once: the header may be long. */
  #rendering: { readonly found: Rendering | undefined } | undefined;

  constructor(request: RoutedRequest, reply: FastifyReply, limits: RequestLimits, span?: Span) {
    this.#request = request;
    this.#reply = reply;
    this.#limits = limits;
    this.#traced = span?.isRecorded === true ? { span } : NOT_TRACED;
  }

  /** Makes a reply of up to `bytes` when there is room for it. Throws `busy` after a timeout. */
  inRoom<Made>(bytes: number, make: MakeInRoom<Made>): Promise<Made> {
    return this.#limits.memory.inRoom(this.#reply, { bytes, signal: this.signal() }, make);
  }

  /** Runs a piece of long work in its turn (TH11). Rejects without running it when the client has disconnected. */
  inTurn<Result>(work: () => Result): Promise<Result> {
    const signal = this.signal();
    return this.#limits.work.run(this.#request.raw.socket, () => {
      signal.throwIfAborted();
      return work();
    });
  }

  /** A percent-decoded parameter of the path, by a name that the route declares. */
  param(name: string): string {
    return this.#request.params[name] ?? '';
  }

  /** The path as sent, without the query string. */
  path(): string {
    return this.#request.url.split('?', 1)[0] ?? '';
  }

  /** The query string with its `?`, as sent; empty when there is none. */
  search(): string {
    const { url } = this.#request;
    const mark = url.indexOf('?');
    return mark < 0 ? '' : url.slice(mark);
  }

  query(): QueryParameters {
    this.#query ??= parseQueryString(this.search().slice(1));
    return this.#query;
  }

  /** Replaces body and headers by those that its form stands for. */
  fillIn(said: SaidByForm): void {
    this.#said = said;
  }

  header(name: string): string | undefined {
    if (this.#said?.headers.has(name) === true) return this.#said.headers.get(name);
    const value = this.#request.headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  }

  /** Lowercase names of all headers. */
  headerNames(): readonly string[] {
    return Object.keys(this.#request.headers);
  }

  rendering(): Rendering | undefined {
    this.#rendering ??= { found: renderingFor(this.header('accept')) };
    return this.#rendering.found;
  }

  listSizes(): ListSizes {
    return this.rendering()?.sizes ?? JSON_SIZES;
  }

  /** All headers as sent, names and values alternating. */
  headers(): readonly (readonly [name: string, value: string])[] {
    const { rawHeaders } = this.#request.raw;
    return rawHeaders.flatMap((name, place) => (place % 2 === 0 ? [[name, rawHeaders[place + 1] ?? ''] as const] : []));
  }

  /** Which headers identify clients, for caching. */
  privacy(): Privacy {
    return this.#limits.privacy;
  }

  isHead(): boolean {
    return this.#request.method === 'HEAD';
  }

  /** Tells whether the client supports chunks, which HTTP/1.0 does not. */
  knowsChunks(): boolean {
    return this.#request.raw.httpVersion !== '1.0';
  }

  /** The bytes of the body; empty when there is none. */
  body(): Uint8Array {
    if (this.#said !== undefined) return this.#said.body;
    const body: unknown = this.#request.body;
    return body instanceof Uint8Array ? body : NO_BYTES;
  }

  /** The error for a body that is too large, with the rule that it breaks. */
  refuseBody(fault: string): DatabaseError {
    return this.#limits.memory.refuseBody(fault);
  }

  /** Members of every read. `x-min-revision`: the node must have applied at least that revision. */
  read(): ReadRequest {
    const shown = shownBy((name) => this.header(name));
    const read = { databaseName: this.param('database'), signal: this.signal() };
    return { ...read, ...this.#floor(), ...shown, ...this.#traced };
  }

  /** Members of every write to a database. */
  write(): WriteToDatabase {
    return { databaseName: this.param('database'), floor: this.#floor(), ...this.#traced };
  }

  #floor(): RevisionFloor | undefined {
    const text = this.header('x-min-revision');
    if (text === undefined) return undefined;
    return { minRevision: parseRevision('x-min-revision', text), signal: this.signal() };
  }

  /** Trace context, as a member of a request to no database. */
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

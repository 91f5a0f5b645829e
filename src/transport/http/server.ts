/**
 * The HTTP server: fastify as router and connection keeper, everything else ours.
 *
 * fastify's JSON parser, error bodies, query parser and 503 during shutdown are switched off, because the API promises
 * lossless JSON, one form of errors, and that an admitted request is finished.
 */
import type { IncomingMessage, RequestListener, Server } from 'node:http';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { BrokenInvariant, type Clock, type DatabaseError, giveBack } from '#base';
import { type LogFields, type Probes, traceFields } from '#observability';
import { isBug, isFatal, type Service } from '#service';
import { authenticationOff } from '../access.ts';
import { createHttpServer, HttpConnections } from '../http-connections.ts';
import { type AllowedOrigins, Origins } from '../origins.ts';
import type { ServerOptions, WebServer } from '../server-options.ts';
import { WorkQueue } from '../work-queue.ts';
import { BodyIntake } from './body-intake.ts';
import { Compression } from './compression.ts';
import { corsHeaders } from './cors.ts';
import { shownToForm, takeForm } from './form-answer.ts';
import { formOf } from './form-request.ts';
import { notFound, toDatabaseError } from './framework-errors.ts';
import { Gate, rateRefusal } from './gate.ts';
import { answerHalfClosed } from './half-closed.ts';
import {
  BODY_BYTES_MAX,
  CONNECTIONS_MAX,
  HEADER_BYTES_MAX,
  HEADERS_MAX,
  HEADERS_TIMEOUT_MS,
  PIPELINED_MAX,
  REQUEST_TIMEOUT_MS,
} from './limits.ts';
import { lingerAfterAnswer } from './lingering.ts';
import { HttpMemory } from './memory.ts';
import { refusalOfForm, refusalOfStranger } from './other-origins.ts';
import { HttpRelaying } from './relaying.ts';
import { emptyReply, type HttpReply, varying } from './reply.ts';
import { HttpRequest, type RequestLimits, type RoutedRequest } from './request.ts';
import { headFault, isAboutServer, originForm } from './request-head.ts';
import { RequestLines } from './request-line.ts';
import { RequestRecords, routeOf } from './request-records.ts';
import { isRead, type Route, type RouteContext } from './route.ts';
import { refuseHeaders, refuseParameters } from './route-parameters.ts';
import { methodsByPath, ROUTES, SERVER_METHODS } from './routes.ts';
import { refused, withoutEmptyFields } from './show.ts';
import { answerClientError, answerUnusualRequests } from './socket-errors.ts';

export interface HttpServerOptions extends ServerOptions {
  readonly service: Service;
  readonly clock: Clock;
  readonly probes: Probes;
  readonly allowedOrigins: AllowedOrigins;
  /** Minimum length of a body to compress; undefined: none is compressed. */
  readonly gzipBytesMin?: number | undefined;
  /** Connections at a time. Default: `CONNECTIONS_MAX`. */
  readonly connectionsMax?: number;
  /** Default: `STALLED_ANSWER_MS`. */
  readonly answerMs?: number;
  /** Default: those of the API. */
  readonly routes?: readonly Route[];
  /** Called for a broken invariant, after which the node must stop. */
  readonly onFatal: (error: unknown) => void;
}

/**
 * Resolves when the server listens.
 * @throws DatabaseError when it cannot listen
 */
export async function startHttpServer(options: HttpServerOptions): Promise<WebServer> {
  const front = new HttpFront(options);
  await front.listen();
  return front;
}

const NO_HEADERS: HttpReply['headers'] = {};
const LAST_OF_CONNECTION: HttpReply['headers'] = { connection: 'close' };

class HttpFront implements WebServer {
  address = '';
  readonly #options: HttpServerOptions;
  readonly #context: RouteContext;
  readonly #records: RequestRecords;
  readonly #countMalformed: () => void;
  readonly #lines = new RequestLines(PIPELINED_MAX);
  readonly #memory: HttpMemory;
  readonly #compression: Compression | undefined;
  readonly #bodies: BodyIntake;
  readonly #limits: RequestLimits;
  readonly #relaying: HttpRelaying | undefined;
  readonly #gate: Gate | undefined;
  readonly #origins: Origins;
  readonly #fastify: FastifyInstance;
  readonly #connections: HttpConnections;
  /** Requests whose client waits for 100 Continue. */
  readonly #unsentBodies = new WeakSet<IncomingMessage>();
  #closing = false;

  constructor(options: HttpServerOptions) {
    this.#options = options;
    const { service, clock, probes, onFatal, routes = ROUTES } = options;
    const judge = (failure: unknown): void => {
      if (isFatal(failure)) onFatal(failure);
      else if (failure instanceof BrokenInvariant) options.logger.error('http-request-failed', { error: failure });
    };
    this.#context = { service, clock, probes, goOn: (work) => void work.catch(judge) };
    const { metrics, tracer } = options;
    this.#records = new RequestRecords({ metrics, tracer, routes, isAuthenticated: options.access !== undefined });
    const malformed = metrics.counter('cairn_rejected_total', { reason: 'malformed' });
    this.#countMalformed = () => malformed.add();
    this.#memory = new HttpMemory(options.budgets, (reason) => {
      metrics.counter('cairn_rejected_total', { reason }).add();
    });
    const { gzipBytesMin: bytesMin } = options;
    this.#compression = bytesMin === undefined ? undefined : new Compression(bytesMin, this.#memory);
    this.#relaying = options.relay && new HttpRelaying(options.relay);
    this.#gate = options.access && new Gate(options.access, this.#context, options.allowedOrigins);
    this.#origins = new Origins({ host: options.host, allowed: options.allowedOrigins });
    this.#limits = {
      memory: this.#memory,
      work: new WorkQueue(),
      privacy: {
        isRequired: options.access !== undefined,
        inputs: options.access ? options.access.authenticator.inputs : [],
      },
    };
    this.#bodies = new BodyIntake(this.#memory, options.budgets.time);
    this.#fastify = this.#createFastify();
    this.#fastify.removeAllContentTypeParsers();
    this.#fastify.addContentTypeParser('*', (request, payload, done) => this.#bodies.receive(request, payload, done));
    this.#fastify.addHook('onRequest', (request, reply, proceed) => {
      this.#enter(request, reply, proceed).catch(proceed);
    });
    this.#fastify.setErrorHandler((error, request, reply) => this.#fail(error, request, reply));
    for (const route of routes) this.#register(route);
    for (const [path, methods] of methodsByPath(routes)) this.#registerOptions(path, methods);
    this.#connections = new HttpConnections(this.#fastify.server, {
      max: options.connectionsMax ?? CONNECTIONS_MAX,
      isSecure: options.secure !== undefined,
      answerMs: options.answerMs,
      onDisplaced: (waiting) => {
        metrics.counter('cairn_connections_displaced_total', { protocol: 'http', waiting }).add();
      },
    });
    answerHalfClosed(this.#fastify.server, this.#lines);
    answerUnusualRequests(this.#fastify.server, {
      allowedOrigins: options.allowedOrigins,
      onMalformed: this.#countMalformed,
    });
  }

  async listen(): Promise<void> {
    const port = { what: 'HTTP', setting: '--http-port' };
    await this.#fastify.ready();
    this.address = await this.#connections.listen(this.#options, port, this.#options.logger);
  }

  makeRoom(): boolean {
    return this.#connections.makeRoom();
  }

  async close(deadlineMs: number): Promise<void> {
    this.#closing = true;
    await this.#connections.close(deadlineMs);
    this.#relaying?.close();
  }

  /** Judges a request by its head. `done` reads the body, which is not called for a request that is answered. */
  async #enter(request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): Promise<void> {
    this.#track(request, reply);
    const fault = headFault(request);
    if (fault === undefined && isAboutServer(request)) {
      this.#send(request, reply, emptyReply({ allow: SERVER_METHODS }));
      return;
    }
    const stranger = fault ?? (await this.#stranger(request));
    if (reply.raw.destroyed) {
      reply.hijack();
      return;
    }
    const refusal = this.#overRate(request) ?? stranger;
    if (refusal !== undefined) {
      if (fault !== undefined || !request.raw.complete) reply.raw.shouldKeepAlive = false;
      if (refusal.code === 'internal') void this.#fail(refusal, request, reply);
      else this.#send(request, reply, refused(request, refusal));
    } else if (request.is404) this.#send(request, reply, notFound(request));
    else done(this.#admit(request));
  }

  /** Refuses a client without a valid credential, and pages of other servers. */
  async #stranger(request: FastifyRequest): Promise<DatabaseError | undefined> {
    const refusal = await (this.#gate?.refusal(request) ?? refusalOfStranger(request, this.#origins));
    return refusal ?? (formOf(request) && refusalOfForm(request, this.#options.allowedOrigins));
  }

  #overRate(request: FastifyRequest): DatabaseError | undefined {
    return this.#options.rateLimits && rateRefusal(this.#options.rateLimits, request);
  }

  /** Sends 100 Continue to a client that waits for it, once there is room (RFC 9110, section 10.1.1). */
  #admit(request: FastifyRequest): DatabaseError | undefined {
    const refusal = this.#memory.admitBody(request);
    const isWanted = refusal === undefined && !this.#memory.isBodyTooLong(request);
    if (isWanted && this.#unsentBodies.delete(request.raw)) request.entry.reply.raw.writeContinue();
    return refusal;
  }

  #createServer(handle: RequestListener): Server {
    const inTurn = this.#lines.inTurn(handle);
    const bounds = {
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      requireHostHeader: false,
    };
    const server = createHttpServer(this.#options.secure, bounds, inTurn);
    server.maxHeadersCount = HEADERS_MAX;
    // Without a listener Node would send 100 Continue before the request is checked.
    return server.on('checkContinue', (request, response) => {
      this.#unsentBodies.add(request);
      inTurn(request, response);
    });
  }

  #createFastify(): FastifyInstance {
    const { allowedOrigins } = this.#options;
    return fastify({
      logger: false,
      schemaController: { compilersFactory: NO_SCHEMAS },
      bodyLimit: BODY_BYTES_MAX,
      serverFactory: (handle) => this.#createServer(handle),
      rewriteUrl: ({ url = '' }) => originForm(url),
      routerOptions: { maxParamLength: HEADER_BYTES_MAX, querystringParser: () => ({}) },
      clientErrorHandler: (error, socket) => {
        answerClientError(error, socket, { allowedOrigins, lines: this.#lines, onMalformed: this.#countMalformed });
      },
      frameworkErrors: (error, request, reply) => {
        this.#track(request, reply);
        void this.#fail(this.#overRate(request) ?? error, request, reply);
      },
    });
  }

  #register(route: Route): void {
    this.#fastify.route<{ Params: RoutedRequest['params'] }>({
      method: route.method,
      url: routerPath(route.path),
      config: { label: route.path, route },
      ...(route.bodyBytesMax === undefined ? {} : { bodyLimit: route.bodyBytesMax }),
      handler: async (request, reply) => {
        // The router accepts an empty segment as a parameter, but a path that ends in a slash is another path.
        if (Object.values(request.params).includes('')) return this.#send(request, reply, notFound(request));
        this.#memory.received(reply);
        const routed = new HttpRequest(request, reply, this.#limits, request.entry.span);
        const filledIn = isRead(route) && route.isForAnybody !== true ? withoutEmptyFields(routed) : undefined;
        if (filledIn !== undefined) return this.#send(request, reply, filledIn);
        refuseParameters(route, routed.query());
        refuseHeaders(route, routed);
        if (route.needsAuthentication === true && this.#gate === undefined) throw authenticationOff();
        const unsent = await takeForm(request, routed);
        if (unsent !== undefined) return this.#send(request, reply, unsent);
        let answer: HttpReply;
        try {
          answer = await this.#answer(route, routed, this.#gate?.contextOf(request.entry) ?? this.#context);
        } catch (failure) {
          const elsewhere = this.#elsewhere(failure, route, request, routed);
          if (elsewhere === undefined) throw failure;
          await elsewhere;
          return reply;
        }
        return this.#send(request, reply, answer);
      },
    });
  }

  #answer({ answerBytes, handle }: Route, routed: HttpRequest, context: RouteContext): Promise<HttpReply> | HttpReply {
    if (answerBytes === undefined) return handle(routed, context);
    return routed.inRoom(answerBytes, async (bytesMax) => {
      const answer = await handle(routed, context);
      return (answer.body?.length ?? 0) <= bytesMax ? answer : undefined;
    });
  }

  /** Relays the request, if another node can answer it. Undefined: the failure is the reply. */
  #elsewhere(failure: unknown, route: Route, request: FastifyRequest, routed: HttpRequest): Promise<void> | undefined {
    const { reply, span, rateHeaders } = request.entry;
    return this.#relaying?.elsewhere(failure, {
      request,
      reply,
      span,
      signal: () => routed.signal(),
      isRead: isRead(route),
      isRepeatable: () => route.isRepeatable?.(routed) ?? false,
      begin: () => {
        this.#memory.passing(reply);
        const origins = corsHeaders(this.#options.allowedOrigins, request.headers.origin);
        return { ...origins, ...rateHeaders, ...this.#ending() };
      },
    });
  }

  #registerOptions(path: string, methods: string): void {
    this.#fastify.route({
      method: 'OPTIONS',
      url: routerPath(path),
      config: { label: path },
      handler: (request, reply) => this.#send(request, reply, emptyReply({ allow: methods })),
    });
  }

  #send(request: FastifyRequest, reply: FastifyReply, made: HttpReply): FastifyReply {
    const built = shownToForm(request, made);
    // A stream holds the bytes that are ready.
    const held = built.stream?.readableLength ?? built.body?.length ?? 0;
    const fault = this.#memory.send(request, reply, held);
    if (fault !== undefined) built.stream?.destroy();
    const answer = fault === undefined ? built : refused(request, fault);
    // The client may send the body or the next request: the two cannot be told apart.
    if (this.#unsentBodies.has(request.raw)) reply.raw.shouldKeepAlive = false;
    // Drain the unread body, so that a TCP reset does not destroy the reply.
    if (!request.raw.complete) lingerAfterAnswer(request.raw.socket);
    reply.code(answer.status);
    const origins = corsHeaders(this.#options.allowedOrigins, request.headers.origin);
    const vary = varying(origins, answer.headers, this.#compression?.varies(answer) ?? NO_HEADERS);
    const gate = this.#gate;
    const ours = {
      ...origins,
      ...request.entry.rateHeaders,
      ...gate?.headersOf(request, answer),
      ...answer.headers,
      ...vary,
    };
    reply.headers({ ...ours, ...gate?.challengeWith(request, answer), ...this.#ending() });
    if (answer.redirect !== undefined) this.#records.redirected(answer.redirect);
    if (answer.contentType !== undefined) reply.header('content-type', answer.contentType);
    const { stream } = answer;
    stream?.once('error', (error) => {
      // Its status is sent: the log alone says why the client gets no end of it.
      if (!reply.raw.destroyed) this.#options.logger.warn('http-body-cut', this.#fieldsOf(request, error));
    });
    if (stream !== undefined) return reply.send(stream);
    const packing = this.#compression?.pack(request, reply, answer);
    if (packing === undefined) return sendBody(reply, answer);
    void this.#sendPacked(packing, reply, answer);
    return reply;
  }

  async #sendPacked(packing: Promise<Buffer | undefined>, reply: FastifyReply, answer: HttpReply): Promise<void> {
    const packed = await packing;
    // The client disconnected meanwhile.
    if (reply.raw.destroyed) reply.hijack();
    else if (packed === undefined) sendBody(reply, answer);
    else sendBody(reply.header('content-encoding', 'gzip'), { body: packed });
  }

  #ending(): HttpReply['headers'] {
    return this.#closing ? LAST_OF_CONNECTION : NO_HEADERS;
  }

  #fail(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
    // The client disconnected, and the error comes from cancelling its work.
    if (reply.raw.destroyed) return reply.hijack();
    const failure = toDatabaseError(error, request);
    if (isBug(failure)) this.#options.logger.error('http-request-failed', this.#fieldsOf(request, failure));
    if (isFatal(error)) this.#options.onFatal(error);
    return this.#send(request, reply, refused(request, failure));
  }

  #fieldsOf(request: FastifyRequest, error: Error): LogFields {
    return { method: request.method, route: routeOf(request), error, ...traceFields(request.entry.span) };
  }

  #track(request: FastifyRequest, reply: FastifyReply): void {
    request.entry = { reply, held: {}, span: this.#records.begin(request, reply) };
    reply.raw.once('close', () => this.#memory.closed(reply));
  }
}

function sendBody(reply: FastifyReply, { body }: Pick<HttpReply, 'body'>): FastifyReply {
  // The memory is free once it is sent; V8 would release it much later.
  if (Buffer.isBuffer(body)) reply.raw.once('close', () => giveBack(body));
  return reply.send(body);
}

/** No route has a schema, but fastify would load its compilers, which are larger than itself. */
const NO_SCHEMAS = { buildValidator: unwanted, buildSerializer: unwanted };

function unwanted(): never {
  throw new TypeError('A route has a schema, and nothing that compiles it is loaded');
}

/** A path such as `/db/{database}` in the syntax of fastify. */
function routerPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}

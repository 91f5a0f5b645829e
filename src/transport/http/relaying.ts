/**
 * Relays requests for a database without a replica on this node to nodes that have one.
 *
 * The body of the request is received and counted first (TM1). The reply passes through at the pace of the client.
 * Status, headers and body are those of the other node, except headers of the connection and of CORS.
 */
import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Traced } from '#observability';
import type { Place } from '../holder-pulse.ts';
import { faultInPassing, isOfConnection, OtherNodes, passedHeaders, Sending } from '../passing.ts';
import { countedHeader, type RateLimits } from '../rate-limits.ts';
import { type Asking, type Attempt, formatShown, isUntried, RELAYED, type Relay, SHOWN } from '../relay.ts';
import { type HttpReply, varying } from './reply.ts';

// An import would also load the WebSocket client of node:http, which is lazy otherwise.
const { request: send } = process.getBuiltinModule('node:http');

/** Timeout until the headers of a reply: longer than a node waits for room, a leader and an outcome. */
const ANSWER_MS = 30_000;
/** Bytes of an error, which is read before it is passed on; it may say that the node did not try the request. */
const ERROR_BYTES_MAX: number = 64 * 1024;
const UNAVAILABLE = 503;
/** The first status of errors. */
const REFUSED_FROM = 400;

/** Headers of CORS, which this server sets itself. */
const isOfOrigins = (name: string): boolean => name.startsWith('access-control-');

export interface RelayedRequest extends Traced {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** Aborts when the client disconnects. */
  readonly signal: () => AbortSignal;
  /** Called before a reply is passed on. Returns the headers that this server adds. */
  readonly begin: () => HttpReply['headers'];
  readonly isRead: boolean;
  /** For a write. */
  readonly isRepeatable: () => boolean;
}

export class HttpRelaying {
  readonly #relay: Relay;
  readonly #rateLimits: RateLimits | undefined;
  readonly #nodes: OtherNodes;

  constructor(relay: Relay, rateLimits?: RateLimits) {
    this.#relay = relay;
    this.#rateLimits = rateLimits;
    this.#nodes = new OtherNodes(relay.dial);
  }

  /** Relays the request, if another node can answer it. Undefined: the failure is the reply. */
  elsewhere(failure: unknown, relayed: RelayedRequest): Promise<void> | undefined {
    const { request, isRead, isRepeatable, span } = relayed;
    const relayedBy = request.headers[RELAYED];
    const elsewhere = this.#relay.elsewhere(failure, relayedBy?.toString());
    if (elsewhere === undefined) return undefined;
    const asked = { protocol: 'http', isWrite: !isRead, isRepeatable, span } as const;
    return this.#relay.relay(elsewhere, asked, (asking) => this.#ask(relayed, asking));
  }

  close(): void {
    this.#nodes.close();
  }

  async #ask(relayed: RelayedRequest, asking: Asking): Promise<Attempt> {
    const signal = relayed.signal();
    if (signal.aborted) return { kind: 'abandoned' };
    const node = this.#nodes.at(asking.holder.http);
    if (node === undefined) return { kind: 'unreached' };
    const { pulse, place } = node;
    const isThere = await pulse.isThere();
    if (signal.aborted) return { kind: 'abandoned' };
    if (!isThere) return { kind: 'unreached' };
    const outgoing = this.#begin(place, relayed, asking);
    const sending = new Sending(outgoing);
    const abandon = (): void => void outgoing.destroy();
    signal.addEventListener('abort', abandon);
    const unwatch = pulse.watch(abandon);
    try {
      const answer = await sending.answer(ANSWER_MS);
      if (signal.aborted) return { kind: 'abandoned' };
      if (answer === undefined) return { kind: sending.isSent ? 'lost' : 'unreached' };
      pulse.heard();
      return await passOn(relayed, answer, asking);
    } finally {
      unwatch();
      signal.removeEventListener('abort', abandon);
    }
  }

  #begin(place: Place, { request }: RelayedRequest, asking: Asking): ClientRequest {
    const body: unknown = request.body;
    const outgoing = send({
      ...place,
      method: request.method,
      path: request.raw.url,
      headers: { ...headersFor(request, asking, this.#relay.name), ...countedHeader(this.#rateLimits) },
    });
    outgoing.end(body instanceof Uint8Array ? body : undefined);
    return outgoing;
  }
}

async function passOn(relayed: RelayedRequest, answer: IncomingMessage, { isAfterLost }: Asking): Promise<Attempt> {
  const { reply } = relayed;
  const signal = relayed.signal();
  const isError = answer.statusCode === UNAVAILABLE;
  const body = isError ? await whole(answer) : undefined;
  if (signal.aborted) return { kind: 'abandoned' };
  if (isError && body === undefined) return { kind: 'lost' };
  if (body !== undefined && isUntried(reasonIn(body))) return { kind: 'untried' };
  if (isAfterLost && (answer.statusCode ?? UNAVAILABLE) >= REFUSED_FROM) {
    answer.destroy();
    return { kind: 'refused' };
  }
  const client = reply.hijack().raw;
  client.statusCode = answer.statusCode ?? UNAVAILABLE;
  for (const [name, values = []] of Object.entries(answer.headersDistinct)) {
    if (!isOfConnection(name) && !isOfOrigins(name)) client.setHeader(name, values);
  }
  const own = relayed.begin();
  for (const [name, value] of Object.entries(own)) client.setHeader(name, value);
  setVary(client, varying(own, { vary: withoutOrigin(answer.headers.vary) }));
  const fault = await (body === undefined ? faultInPassing(answer, client) : undefined);
  if (fault !== undefined) return { kind: fault };
  if (body !== undefined) client.end(body);
  return { kind: 'answered', header: (name) => answer.headers[name]?.toString() };
}

/** `Vary` without Origin, which this server adds itself. */
function withoutOrigin(vary = ''): string {
  const names = vary.split(',').map((name) => name.trim());
  return names.filter((name) => name !== '' && name.toLowerCase() !== 'origin').join(', ');
}

function setVary(client: ServerResponse, { vary }: HttpReply['headers']): void {
  if (vary === undefined) client.removeHeader('vary');
  else client.setHeader('vary', vary);
}

/** Undefined when the body is incomplete, or longer than any error. */
async function whole(answer: IncomingMessage): Promise<Buffer | undefined> {
  const pieces: Buffer[] = [];
  let byteCount = 0;
  try {
    for await (const piece of answer) {
      if (!Buffer.isBuffer(piece)) continue;
      byteCount += piece.length;
      if (byteCount > ERROR_BYTES_MAX) return undefined;
      pieces.push(piece);
    }
  } catch {
    return undefined;
  }
  return Buffer.concat(pieces, byteCount);
}

/**
 * Matches in JSON or TOON. Both escape quotes and line breaks in texts, so it can match only in the details of an
 * error.
 */
function reasonIn(body: Buffer): string | undefined {
  const reason = /"reason":"(\w+)"|^ +reason: (\w+)$/m.exec(body.toString('latin1'));
  return reason?.[1] ?? reason?.[2];
}

function headersFor(request: FastifyRequest, { holder, shown, trace }: Asking, relayedBy: string): OutgoingHttpHeaders {
  const headers = passedHeaders(request.raw);
  const body: unknown = request.body;
  headers['host'] ??= new URL(holder.http).host;
  if (body instanceof Uint8Array) headers['content-length'] = body.length;
  if (shown !== undefined) headers[SHOWN] = formatShown(shown);
  headers[RELAYED] = relayedBy;
  return Object.assign(headers, trace);
}

/**
 * What the HTTP server has other nodes answer, because it holds no copy of the database.
 *
 * The body of the request is here and counted (TM1); the answer passes as it comes, no faster than the client takes it.
 * Status, headers and body are those of the other node; what concerns one connection alone, and who may read the
 * answer, is this server's.
 */
import type {
  AgentOptions,
  ClientRequest,
  Agent as HttpAgent,
  IncomingMessage,
  OutgoingHttpHeaders,
  ServerResponse,
} from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Traced } from '#observability';
import { COUNTED, countedHeader, type RateLimits } from '../rate-limits.ts';
import { type Asking, type Attempt, formatShown, isUntried, RELAYED, type Relay, SHOWN } from '../relay.ts';
import { secureAgent } from '../secure.ts';
import { HolderPulse, type Place } from './holder-pulse.ts';
import { type HttpReply, varying } from './reply.ts';

// An import of it would also load what it offers lazily: a client for the web.
const { Agent, request: send } = process.getBuiltinModule('node:http');

const DIAL_MS = 1_000;
/** To the headers of an answer of a node that is there: longer than one waits for room, a leader and an outcome. */
const ANSWER_MS = 30_000;
/** Connections to a node that are kept for the next request. */
const FREE_SOCKETS_MAX = 32;
/** An error says who has not tried; it is looked at before it is passed on, and is never so long. */
const ERROR_BYTES_MAX: number = 64 * 1024;
const UNAVAILABLE = 503;
/** The first status that refuses. */
const REFUSED_FROM = 400;
const KEPT: AgentOptions = { keepAlive: true, maxFreeSockets: FREE_SOCKETS_MAX };
const PORTS: ReadonlyMap<string, string> = new Map([
  ['http:', '80'],
  ['https:', '443'],
]);

/** Of one connection, or written anew by each server. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  COUNTED,
  'connection',
  'date',
  'expect',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Whether an answer may be read by a page of another origin is for the server to say that the page has asked. */
const isOfOrigins = (name: string): boolean => name.startsWith('access-control-');

export interface RelayedRequest extends Traced {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** Aborts when the client has gone. */
  readonly signal: () => AbortSignal;
  /** Called when an answer is about to be passed on; gives the headers that this server adds. */
  readonly begin: () => HttpReply['headers'];
  readonly isRead: boolean;
  /** Of a write. */
  readonly isRepeatable: () => boolean;
}

export class HttpRelaying {
  readonly #relay: Relay;
  readonly #rateLimits: RateLimits | undefined;
  readonly #plain = new Agent(KEPT);
  readonly #secure: HttpAgent;
  readonly #pulses = new Map<string, HolderPulse>();

  constructor(relay: Relay, rateLimits?: RateLimits) {
    this.#relay = relay;
    this.#rateLimits = rateLimits;
    this.#secure = secureAgent(relay.dial, KEPT);
  }

  /** Has another node answer, if that can; undefined: the failure is the answer. */
  elsewhere(failure: unknown, relayed: RelayedRequest): Promise<void> | undefined {
    const { request, isRead, isRepeatable, span } = relayed;
    const relayedBy = request.headers[RELAYED];
    const elsewhere = this.#relay.elsewhere(failure, relayedBy?.toString());
    if (elsewhere === undefined) return undefined;
    const asked = { protocol: 'http', isWrite: !isRead, isRepeatable, span } as const;
    return this.#relay.relay(elsewhere, asked, (asking) => this.#ask(relayed, asking));
  }

  close(): void {
    this.#plain.destroy();
    this.#secure.destroy();
  }

  async #ask(relayed: RelayedRequest, asking: Asking): Promise<Attempt> {
    const signal = relayed.signal();
    if (signal.aborted) return { kind: 'abandoned' };
    const url = URL.parse(asking.holder.http);
    if (url === null || !PORTS.has(url.protocol)) return { kind: 'unreached' };
    const pulse = this.#pulseOf(url);
    const isThere = await pulse.isThere();
    if (signal.aborted) return { kind: 'abandoned' };
    if (!isThere) return { kind: 'unreached' };
    const outgoing = this.#begin(url, relayed, asking);
    const sending = new Sending(outgoing);
    const abandon = (): void => void outgoing.destroy();
    signal.addEventListener('abort', abandon);
    const unwatch = pulse.watch(abandon);
    try {
      const answer = await sending.answer();
      if (signal.aborted) return { kind: 'abandoned' };
      if (answer === undefined) return { kind: sending.isSent ? 'lost' : 'unreached' };
      pulse.heard();
      return await passOn(relayed, answer, asking);
    } finally {
      unwatch();
      signal.removeEventListener('abort', abandon);
    }
  }

  #pulseOf(url: URL): HolderPulse {
    const pulse = this.#pulses.get(url.origin) ?? new HolderPulse(this.#placeOf(url));
    this.#pulses.set(url.origin, pulse);
    return pulse;
  }

  #placeOf({ protocol, hostname, port }: URL): Place {
    const agent = protocol === 'https:' ? this.#secure : this.#plain;
    // The port of the protocol is none in a URL.
    return { agent, host: hostname.replace(/^\[|\]$/g, ''), port: port || (PORTS.get(protocol) ?? '') };
  }

  #begin(url: URL, { request }: RelayedRequest, asking: Asking): ClientRequest {
    const body: unknown = request.body;
    const outgoing = send({
      ...this.#placeOf(url),
      method: request.method,
      path: request.raw.url,
      headers: { ...headersFor(request, asking, this.#relay.name), ...countedHeader(this.#rateLimits) },
    });
    outgoing.end(body instanceof Uint8Array ? body : undefined);
    return outgoing;
  }
}

/** A request under way. */
class Sending {
  readonly #outgoing: ClientRequest;
  /** Whether any of it can have arrived. */
  isSent = false;

  constructor(outgoing: ClientRequest) {
    this.#outgoing = outgoing;
    // Whoever waits for the answer sees that none comes.
    outgoing.on('error', () => undefined);
    outgoing.once('socket', (socket) => {
      if (outgoing.reusedSocket) {
        this.isSent = true;
        return;
      }
      const tooSlow = setTimeout(() => outgoing.destroy(), DIAL_MS);
      // Before the handshake is over nothing is sent.
      const open = 'encrypted' in socket ? 'secureConnect' : 'connect';
      socket.once(open, () => {
        this.isSent = true;
      });
      for (const event of [open, 'close']) socket.once(event, () => clearTimeout(tooSlow));
    });
  }

  /** Undefined: none comes. */
  async answer(): Promise<IncomingMessage | undefined> {
    const tooSlow = setTimeout(() => this.#outgoing.destroy(), ANSWER_MS);
    const answer = await new Promise<IncomingMessage | undefined>((resolve) => {
      this.#outgoing.once('response', resolve).once('close', () => resolve(undefined));
    });
    clearTimeout(tooSlow);
    return answer;
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
    if (!OWN_HEADERS.has(name) && !isOfOrigins(name)) client.setHeader(name, values);
  }
  const own = relayed.begin();
  for (const [name, value] of Object.entries(own)) client.setHeader(name, value);
  setVary(client, varying(own, { vary: withoutOrigin(answer.headers.vary) }));
  const fault = await (body === undefined ? faultInPassing(answer, client) : undefined);
  if (fault !== undefined) return { kind: fault };
  if (body !== undefined) client.end(body);
  return { kind: 'answered', header: (name) => answer.headers[name]?.toString() };
}

/** That an answer depends on the origin of its request is for this server to say. */
function withoutOrigin(vary = ''): string {
  const names = vary.split(',').map((name) => name.trim());
  return names.filter((name) => name !== '' && name.toLowerCase() !== 'origin').join(', ');
}

function setVary(client: ServerResponse, { vary }: HttpReply['headers']): void {
  if (vary === undefined) client.removeHeader('vary');
  else client.setHeader('vary', vary);
}

/** Resolves when the client has the whole answer, or one of the two has gone: then the other is told so. */
async function faultInPassing(
  answer: IncomingMessage,
  client: ServerResponse,
): Promise<'broken' | 'abandoned' | undefined> {
  let isBroken = false;
  answer.once('close', () => {
    if (answer.complete || client.destroyed) return;
    isBroken = true;
    client.destroy();
  });
  answer.pipe(client);
  await new Promise((resolve) => client.once('close', resolve));
  answer.destroy();
  if (isBroken) return 'broken';
  return client.writableFinished ? undefined : 'abandoned';
}

/** Undefined when it does not come to its end, or is longer than any error. */
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
 * In JSON or in TOON. Quotes and line breaks inside of a text are escaped: this stands nowhere but in the details of an
 * error.
 */
function reasonIn(body: Buffer): string | undefined {
  const reason = /"reason":"(\w+)"|^ +reason: (\w+)$/m.exec(body.toString('latin1'));
  return reason?.[1] ?? reason?.[2];
}

function headersFor(request: FastifyRequest, { holder, shown, trace }: Asking, relayedBy: string): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {};
  const body: unknown = request.body;
  const named = request.headers.connection?.toLowerCase().split(',') ?? [];
  const ofConnection = new Set(named.map((name) => name.trim()));
  for (const [name, values] of Object.entries(request.raw.headersDistinct)) {
    if (!OWN_HEADERS.has(name) && !ofConnection.has(name)) {
      headers[name] = values?.length === 1 ? values[0] : values;
    }
  }
  headers['host'] ??= new URL(holder.http).host;
  if (body instanceof Uint8Array) headers['content-length'] = body.length;
  if (shown !== undefined) headers[SHOWN] = formatShown(shown);
  headers[RELAYED] = relayedBy;
  return Object.assign(headers, trace);
}

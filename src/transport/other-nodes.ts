/**
 * Requests over HTTP that another node answers, for the HTTP API and for MCP: the connections to that node, and the
 * request and its answer on their way. The callers say which node is asked, and what follows when it does not answer.
 */
import type { AgentOptions, Agent as HttpAgent, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { Liveness, type Probe } from './liveness.ts';
import { namedIn, OF_A_CONNECTION } from './own-headers.ts';
import { COUNTED } from './rate-limits.ts';
import type { Asking, Relay, Relayed } from './relay.ts';
import { secureAgent } from './secure.ts';

// An import would also load what node:http loads lazily: a client for the web.
const { Agent, request: send } = process.getBuiltinModule('node:http');

/** Connections to a node that are kept for the next request. */
const FREE_SOCKETS_MAX = 32;
const KEPT: AgentOptions = { keepAlive: true, maxFreeSockets: FREE_SOCKETS_MAX };
const PORTS: ReadonlyMap<string, string> = new Map([
  ['http:', '80'],
  ['https:', '443'],
]);
const UNAVAILABLE = 503;

/** Headers of one connection, and those that each server writes itself. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  ...OF_A_CONNECTION,
  COUNTED,
  'date',
  'proxy-authenticate',
  'proxy-authorization',
]);

export interface PassedOn {
  readonly request: IncomingMessage;
  /** A stream is the request itself. */
  readonly body: Uint8Array | IncomingMessage | undefined;
  readonly signal: AbortSignal;
}

type Unanswered = Extract<Relayed, { readonly kind: 'unreached' | 'lost' | 'abandoned' }>;

interface OtherNode {
  readonly place: { readonly agent: HttpAgent; readonly host: string; readonly port: string };
  readonly liveness: Liveness;
}

/** The nodes that were asked, by the origins of their URLs. */
export class OtherNodes {
  readonly #relay: Relay;
  readonly #plain = new Agent(KEPT);
  readonly #secure: HttpAgent;
  readonly #known = new Map<string, OtherNode>();

  constructor(relay: Relay) {
    this.#relay = relay;
    this.#secure = secureAgent(relay.dial, KEPT);
  }

  /** Asks the node of the holder's URL. Resolves when the headers of its answer are there, or none will come. */
  async ask({ request, body, signal }: PassedOn, asking: Asking): Promise<IncomingMessage | Unanswered> {
    const node = this.#at(asking.holder.http);
    const isThere = node !== undefined && !signal.aborted && (await node.liveness.isThere());
    if (signal.aborted) return { kind: 'abandoned' };
    if (!isThere) return { kind: 'unreached' };
    const headers = { ...passedHeaders(request, body), ...this.#relay.headersFor(asking) };
    const outgoing = send({ ...node.place, method: request.method, path: request.url, headers, signal });
    // True when a part of the request can have arrived. Nothing is sent before the handshake is complete.
    let isSent = false;
    outgoing.once('socket', (socket) => {
      isSent = outgoing.reusedSocket;
      // A connection that is used again has been made: the listener would stay with it, and one more for each request.
      if (!isSent) socket.once('encrypted' in socket ? 'secureConnect' : 'connect', () => void (isSent = true));
    });
    outgoing.once(
      'close',
      node.liveness.watch(() => outgoing.destroy()),
    );
    const answer = await new Promise<IncomingMessage | undefined>((resolve) => {
      outgoing.once('response', resolve).once('close', () => resolve(undefined));
      // The end of the request shows that no answer comes.
      outgoing.on('error', () => undefined);
      if (body instanceof Uint8Array || body === undefined) outgoing.end(body);
      else body.pipe(outgoing);
    });
    if (signal.aborted) return { kind: 'abandoned' };
    if (answer === undefined) return { kind: isSent ? 'lost' : 'unreached' };
    node.liveness.heard();
    return answer;
  }

  close(): void {
    this.#plain.destroy();
    this.#secure.destroy();
  }

  /** Undefined: the URL is none of HTTP. */
  #at(address: string): OtherNode | undefined {
    const url = URL.parse(address);
    if (url === null || !PORTS.has(url.protocol)) return undefined;
    const { origin, protocol, hostname, port } = url;
    const known = this.#known.get(origin);
    if (known !== undefined) return known;
    const agent = protocol === 'https:' ? this.#secure : this.#plain;
    // A URL does not have the port of its protocol.
    const place = { agent, host: hostname.replace(/^\[|\]$/g, ''), port: port || (PORTS.get(protocol) ?? '') };
    const node = { place, liveness: new Liveness(probeOf(place)) };
    this.#known.set(origin, node);
    return node;
  }
}

function probeOf(place: OtherNode['place']): Probe {
  return (signal) =>
    new Promise((resolve) => {
      const probe = send({ ...place, path: '/health', signal }, (answer) => {
        answer.resume();
        resolve(true);
      });
      probe.on('error', () => resolve(false)).end();
    });
}

/** Headers of the client that another node receives as they are. */
function passedHeaders(request: IncomingMessage, body: PassedOn['body']): OutgoingHttpHeaders {
  const passed: OutgoingHttpHeaders = {};
  const ofConnection = namedIn(request.headers.connection);
  for (const [name, values] of Object.entries(request.headersDistinct)) {
    if (!OWN_HEADERS.has(name) && !ofConnection.has(name)) passed[name] = values?.length === 1 ? values[0] : values;
  }
  // A length without a body would make the next request of the connection a part of this one.
  if (body === undefined) delete passed['content-length'];
  if (body instanceof Uint8Array) passed['content-length'] = body.length;
  return passed;
}

/** Sets status and headers of the client's response, except headers of a connection and of CORS. */
export function passHead(answer: IncomingMessage, client: ServerResponse): void {
  client.statusCode = answer.statusCode ?? UNAVAILABLE;
  for (const [name, values = []] of Object.entries(answer.headersDistinct)) {
    if (!OWN_HEADERS.has(name) && !name.startsWith('access-control-')) client.setHeader(name, values);
  }
}

/** Passes the body on at the pace of the client. When one side breaks off, the other one is ended as well. */
export async function passBody(answer: IncomingMessage, client: ServerResponse): Promise<Relayed> {
  let isBroken = false;
  answer.once('close', () => {
    if (answer.complete || client.destroyed) return;
    isBroken = true;
    client.destroy();
  });
  answer.pipe(client);
  await new Promise((resolve) => client.once('close', resolve));
  answer.destroy();
  if (isBroken) return { kind: 'broken' };
  if (!client.writableFinished) return { kind: 'abandoned' };
  return { kind: 'answered', header: (name) => answer.headers[name]?.toString() };
}

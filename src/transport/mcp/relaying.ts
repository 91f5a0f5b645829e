/**
 * Relays requests of sessions on other nodes, with backpressure in both directions.
 *
 * ```
 *   the id names this node, or none ──────────────────────> here: the session, or 404
 *   it names another one ── the request was relayed ──────> here: 404
 *        └── the catalog has its MCP ── it does not answer ──> 404: the client begins again
 *                                  └── it answers ──────────> its answer
 *                                            └── is lost ───> 503: it may be done or not
 * ```
 *
 * Invariants:
 *   TC5  The address of the other node comes from the catalog, never from the request: an id only selects a node of
 *        this cluster.
 *   TC6  A request is relayed once. A client that marks its own request as relayed gets 404 instead of being relayed.
 */
import type { IncomingMessage } from 'node:http';
import { type NodeId, quote } from '#base';
import type { Span, Tracer } from '#observability';
import type { Holder } from '#service';
import type { Exchange } from '../http-connections.ts';
import { OtherNodes, passBody, passHead } from '../other-nodes.ts';
import { type Asking, RELAYED, type Relay, type Relayed } from '../relay.ts';
import { refuse } from './refusals.ts';
import { nodeOfSession, SESSION_HEADER } from './session-ids.ts';

/** The nodes of the cluster that have sessions. */
export interface McpNodes {
  readonly own: NodeId;
  /** MCP URL of another node, from the catalog. Undefined: the node does not exist, or has no MCP. */
  readonly urlOf: (node: NodeId) => string | undefined;
}

export class McpRelaying {
  readonly #relay: Relay;
  readonly #nodes: McpNodes;
  readonly #tracer: Tracer | undefined;
  readonly #others: OtherNodes;
  /** End functions of the streams that clients listen to. */
  readonly #listening = new Set<() => void>();

  constructor(relay: Relay, nodes: McpNodes, tracer: Tracer | undefined) {
    this.#relay = relay;
    this.#nodes = nodes;
    this.#tracer = tracer;
    this.#others = new OtherNodes(relay);
  }

  /**
   * Relays the request if another node has its session. Resolves when the client has its answer, or has disconnected.
   */
  async relayIfElsewhere(exchange: Exchange): Promise<boolean> {
    const { request, response } = exchange;
    const session = request.headers[SESSION_HEADER]?.toString() ?? '';
    const { own, urlOf } = this.#nodes;
    const node = request.headers[RELAYED] === undefined ? nodeOfSession(session) : undefined;
    const http = node === undefined || node === own ? undefined : urlOf(node);
    if (node === undefined || http === undefined) return false;
    const span = this.#spanOf(request);
    const asked = { protocol: 'mcp', span: span?.isRecorded === true ? span : undefined } as const;
    const holder: Holder = { node, name: String(node), grpc: '', http, isNear: false };
    try {
      const result = await this.#relay.relayTo(holder, asked, (asking) => this.#ask(asking, exchange));
      if (result === 'unreached' || result === 'lost') refuseFor(session, result, exchange);
    } finally {
      span?.set({ 'http.response.status_code': response.headersSent ? response.statusCode : undefined });
      span?.end();
    }
    return true;
  }

  /** Ends the streams that clients listen to; requests continue. */
  endStreams(): void {
    for (const end of this.#listening) end();
  }

  close(): void {
    this.#others.close();
  }

  /** A span of GET would last as long as the client listens. */
  #spanOf({ method, headers }: IncomingMessage): Span | undefined {
    if (method !== 'POST') return undefined;
    const attributes = { 'http.request.method': method, 'http.route': '/' };
    return this.#tracer?.begin('POST /', (name) => headers[name]?.toString(), attributes);
  }

  async #ask(asking: Asking, { request, response }: Exchange): Promise<Relayed> {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    // The client has disconnected during authentication.
    if (response.destroyed) gone.abort();
    const body = request.method === 'POST' ? request : undefined;
    const answer = await this.#others.ask({ request, body, signal: gone.signal }, asking);
    if ('kind' in answer) return answer;
    passHead(answer, response);
    // The rest of the body is not read.
    if (body?.complete === false) response.setHeader('connection', 'close');
    response.flushHeaders();
    const end = (): void => {
      answer.unpipe(response);
      response.end();
    };
    if (request.method === 'GET') this.#listening.add(end);
    response.once('close', () => this.#listening.delete(end));
    return passBody(answer, response);
  }
}

function refuseFor(session: string, result: 'unreached' | 'lost', { request, response }: Exchange): void {
  request.unpipe();
  // The rest of the body would be read as the next request of the connection.
  const headers: Readonly<Record<string, string>> = request.complete ? {} : { connection: 'close' };
  request.resume();
  const which = `The node of the session ${quote(session)}`;
  if (result === 'unreached') refuse(response, 404, `${which} is not reached; begin with initialize`, headers);
  else refuse(response, 503, `${which} has the request, and its answer was lost: it may be done or not`, headers);
}

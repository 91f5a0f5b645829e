/**
 * Requests of sessions that another node has: relayed to it, body and answer at the pace of either side.
 *
 * ```
 *   the id names this node, or none ──────────────────────> here: the session, or 404
 *   it names another one ── the request was relayed ──────> here: 404
 *        └── the catalog has its MCP ── it does not answer ──> 404: the client begins anew
 *                                  └── it answers ──────────> its answer
 *                                            └── is lost ───> 503: it may be done or not
 * ```
 *
 * Invariants:
 *   TC5  The address of the other node is that of the catalog, and never of the request: an id only chooses among the
 *        nodes of this cluster.
 *   TC6  A request is relayed once. A client that marks its own request as relayed gets 404 where it would get more.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type NodeId, quote } from '#base';
import type { Tracer } from '#observability';
import type { Holder } from '#service';
import { OtherNodes, passBody, passHead } from '../other-nodes.ts';
import { type Asking, RELAYED, type Relay, type Relayed } from '../relay.ts';
import { refuse } from './refusals.ts';
import { nodeOfSession } from './session-ids.ts';

/** The nodes of the cluster that have sessions. */
export interface McpNodes {
  /** This node. */
  readonly own: NodeId;
  /** The URL of MCP of another node, by the catalog. Undefined: it is no node, or has none. */
  readonly urlOf: (node: NodeId) => string | undefined;
}

export interface McpExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export class McpRelaying {
  readonly #relay: Relay;
  readonly #nodes: McpNodes;
  readonly #tracer: Tracer | undefined;
  readonly #others: OtherNodes;
  /** Ends each stream that a client listens to. */
  readonly #listening = new Set<() => void>();

  constructor(relay: Relay, nodes: McpNodes, tracer: Tracer | undefined) {
    this.#relay = relay;
    this.#nodes = nodes;
    this.#tracer = tracer;
    this.#others = new OtherNodes(relay);
  }

  /** The node that answers requests of this session instead; undefined: this one. */
  elsewhere(session: string, { headers }: IncomingMessage): Holder | undefined {
    const { own, urlOf } = this.#nodes;
    const node = nodeOfSession(session);
    if (node === undefined || node === own || headers[RELAYED] !== undefined) return undefined;
    const url = urlOf(node);
    return url === undefined ? undefined : { node, name: String(node), grpc: '', http: url, isNear: false };
  }

  /** Resolves when the client has its answer, or has gone. */
  async relay(session: string, node: Holder, exchange: McpExchange): Promise<void> {
    const { request, response } = exchange;
    // A span of GET would last as long as the client listens.
    const span =
      request.method === 'POST'
        ? this.#tracer?.begin('POST /', (name) => request.headers[name]?.toString(), {
            'http.request.method': 'POST',
            'http.route': '/',
          })
        : undefined;
    const asked = { protocol: 'mcp', span: span?.isRecorded === true ? span : undefined } as const;
    try {
      const result = await this.#relay.relayTo(node, asked, (asking) => this.#ask(asking, exchange));
      if (result === 'unreached' || result === 'lost') refuseFor(session, result, exchange);
    } finally {
      span?.set({ 'http.response.status_code': response.headersSent ? response.statusCode : undefined });
      span?.end();
    }
  }

  /** Ends the streams that clients listen to; requests continue. */
  endStreams(): void {
    for (const end of this.#listening) end();
  }

  close(): void {
    this.#others.close();
  }

  async #ask(asking: Asking, { request, response }: McpExchange): Promise<Relayed> {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
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

function refuseFor(session: string, result: 'unreached' | 'lost', { request, response }: McpExchange): void {
  request.unpipe();
  // The rest of the body would be read as the next request of the connection.
  const headers: Readonly<Record<string, string>> = request.complete ? {} : { connection: 'close' };
  request.resume();
  const which = `The node of the session ${quote(session)}`;
  if (result === 'unreached') refuse(response, 404, `${which} is not reached; begin with initialize`, headers);
  else refuse(response, 503, `${which} has the request, and its answer was lost: it may be done or not`, headers);
}

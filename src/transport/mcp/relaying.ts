/**
 * Requests of sessions that another node has: passed on to it, body and answer as they come, no faster than either side
 * takes them.
 *
 * ```
 *   the id names this node, or nobody ──────────────────────> here: the session, or 404
 *   it names another one ── the request was passed on ──────> here: 404
 *        └── the catalog has its MCP ── it does not answer ──> 404: the client begins anew
 *                                  └── it answers ──────────> its answer
 *                                            └── is lost ───> 503: nobody knows what it has done
 * ```
 *
 * Invariants:
 *   TC5  Where a request is passed on to stands in the catalog, and never in the request: an id only chooses among the
 *        nodes of this cluster.
 *   TC6  A request is passed on once. Who marks his own as passed on gets 404 where he would have got more.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type NodeId, quote } from '#base';
import type { Count, Metrics, RelayResult, TraceHeaders, Tracer } from '#observability';
import { faultInPassing, isOfConnection, type OtherNode, OtherNodes, passedHeaders, Sending } from '../passing.ts';
import { countedHeader, type RateLimits } from '../rate-limits.ts';
import { RELAYED } from '../relay.ts';
import type { Dial } from '../secure.ts';
import { RELAYED_ANSWER_MS } from './limits.ts';
import { refuse } from './refusals.ts';
import { inRelaySpan } from './relay-traces.ts';
import { nodeOfSession } from './session-ids.ts';

// An import of it would also load what it offers lazily: a client for the web.
const { request: send } = process.getBuiltinModule('node:http');

/** The nodes of the cluster, as far as they have sessions. */
export interface McpNodes {
  /** This node. */
  readonly own: NodeId;
  /** Its name, by which it marks what it passes on. */
  readonly name: string;
  /** Where MCP of another node is, by the catalog: a URL. Undefined: it is no node, or has none. */
  readonly urlOf: (node: NodeId) => string | undefined;
}

export interface McpRelayingParts {
  readonly nodes: McpNodes;
  readonly dial: Dial;
  readonly rateLimits: RateLimits | undefined;
  readonly metrics: Metrics;
  readonly tracer: Tracer | undefined;
}

export interface McpExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

const LOST = 503;

export class McpRelaying {
  readonly #parts: McpRelayingParts;
  readonly #others: OtherNodes;
  readonly #counts = new Map<RelayResult, Count>();
  /** Ends each stream that a client listens to. */
  readonly #listening = new Set<() => void>();

  constructor(parts: McpRelayingParts) {
    this.#parts = parts;
    this.#others = new OtherNodes(parts.dial);
  }

  /** Who is to answer a request of this session instead; undefined: this node. */
  elsewhere(session: string, { headers }: IncomingMessage): OtherNode | undefined {
    const { own, urlOf } = this.#parts.nodes;
    const node = nodeOfSession(session);
    if (node === undefined || node === own || headers[RELAYED] !== undefined) return undefined;
    const url = urlOf(node);
    return url === undefined ? undefined : this.#others.at(url);
  }

  /** Resolves when the client has its answer, or has gone. */
  async pass(session: string, node: OtherNode, exchange: McpExchange): Promise<void> {
    const { request, response } = exchange;
    await inRelaySpan(this.#parts.tracer, { request, response, place: node.place }, async (trace) => {
      const result = await this.#pass(node, exchange, trace);
      this.#count(result);
      if (result === 'unreached' || result === 'lost') refuseFor(session, result, exchange);
      return result;
    });
  }

  /** Streams that clients listen to end; what is under way goes on. */
  endStreams(): void {
    for (const end of this.#listening) end();
  }

  close(): void {
    this.#others.close();
  }

  async #pass({ place, pulse }: OtherNode, exchange: McpExchange, trace: TraceHeaders): Promise<RelayResult> {
    const { request, response } = exchange;
    const isThere = await pulse.isThere();
    if (response.destroyed) return 'abandoned';
    if (!isThere) return 'unreached';
    const { nodes, rateLimits } = this.#parts;
    const headers = { ...passedHeaders(request), ...trace, [RELAYED]: nodes.name, ...countedHeader(rateLimits) };
    const isPost = request.method === 'POST';
    // Others have none; a length or a body without one would be the beginning of another request.
    if (!isPost) delete headers['content-length'];
    const outgoing = send({ ...place, method: request.method, path: '/', headers });
    const sending = new Sending(outgoing);
    const abandon = (): void => void outgoing.destroy();
    response.once('close', abandon);
    const unwatch = pulse.watch(abandon);
    if (isPost) request.pipe(outgoing);
    else outgoing.end();
    try {
      const answer = await sending.answer(RELAYED_ANSWER_MS);
      if (response.destroyed) return 'abandoned';
      if (answer === undefined) return sending.isSent ? 'lost' : 'unreached';
      pulse.heard();
      return await this.#passBack(answer, exchange);
    } finally {
      unwatch();
      response.off('close', abandon);
    }
  }

  async #passBack(answer: IncomingMessage, { request, response }: McpExchange): Promise<RelayResult> {
    response.statusCode = answer.statusCode ?? LOST;
    for (const [name, values = []] of Object.entries(answer.headersDistinct)) {
      if (!isOfConnection(name)) response.setHeader(name, values);
    }
    // What is left of the body is not read.
    if (request.method === 'POST' && !request.complete) response.setHeader('connection', 'close');
    response.flushHeaders();
    const end = (): void => {
      answer.unpipe(response);
      response.end();
    };
    if (request.method === 'GET') this.#listening.add(end);
    try {
      return (await faultInPassing(answer, response)) ?? 'answered';
    } finally {
      this.#listening.delete(end);
    }
  }

  #count(result: RelayResult): void {
    const labels = { protocol: 'mcp', result } as const;
    const count = this.#counts.get(result) ?? this.#parts.metrics.counter('cairn_relayed_requests_total', labels);
    this.#counts.set(result, count);
    count.add();
  }
}

function refuseFor(session: string, result: 'unreached' | 'lost', { request, response }: McpExchange): void {
  request.unpipe();
  // What is left of the body is for nobody, and stands before the next request of the connection.
  const headers: Readonly<Record<string, string>> = request.complete ? {} : { connection: 'close' };
  request.resume();
  const which = `The node of the session ${quote(session)}`;
  if (result === 'unreached') refuse(response, 404, `${which} is not reached; begin with initialize`, headers);
  else refuse(response, LOST, `${which} has the request, and its answer was lost: it may be done or not`, headers);
}

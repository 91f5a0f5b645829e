/**
 * Relays requests for a database without a replica on this node to nodes that have one.
 *
 * The body of the request is received and counted first (TM1). The reply passes through at the pace of the client.
 * Status, headers and body are those of the other node, except headers of the connection and of CORS.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Traced } from '#observability';
import { OtherNodes, passBody, passHead } from '../other-nodes.ts';
import { type Asking, type Attempt, RELAYED, type Relay, UNTRIED } from '../relay.ts';
import { type HttpReply, varying } from './reply.ts';

/** The first status of errors. */
const REFUSED_FROM = 400;

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
  readonly #nodes: OtherNodes;

  constructor(relay: Relay) {
    this.#relay = relay;
    this.#nodes = new OtherNodes(relay);
  }

  /** Relays the request, if another node can answer it. Undefined: the failure is the reply. */
  elsewhere(failure: unknown, relayed: RelayedRequest): Promise<void> | undefined {
    const { request, isRead, isRepeatable, span } = relayed;
    const elsewhere = this.#relay.elsewhere(failure, request.headers[RELAYED]);
    if (elsewhere === undefined) return undefined;
    const asked = { protocol: 'http', isWrite: !isRead, isRepeatable, span } as const;
    return this.#relay.relay(elsewhere, asked, (asking) => this.#ask(relayed, asking));
  }

  close(): void {
    this.#nodes.close();
  }

  async #ask({ request, reply, signal, begin }: RelayedRequest, asking: Asking): Promise<Attempt> {
    const body = request.body instanceof Uint8Array ? request.body : undefined;
    const answer = await this.#nodes.ask({ request: request.raw, body, signal: signal() }, asking);
    if ('kind' in answer) return answer;
    const isRefusal = (answer.statusCode ?? REFUSED_FROM) >= REFUSED_FROM;
    if (answer.headers[UNTRIED] !== undefined || (asking.isAfterLost && isRefusal)) {
      answer.destroy();
      return { kind: 'untried' };
    }
    const client = reply.hijack().raw;
    passHead(answer, client);
    const own = begin();
    for (const [name, value] of Object.entries(own)) client.setHeader(name, value);
    const { vary } = varying(own, { vary: withoutOrigin(answer.headers.vary) });
    if (vary === undefined) client.removeHeader('vary');
    else client.setHeader('vary', vary);
    return passBody(answer, client);
  }
}

/** `Vary` without Origin, which this server adds itself. */
function withoutOrigin(vary = ''): string {
  const names = vary.split(',').map((name) => name.trim());
  return names.filter((name) => name !== '' && name.toLowerCase() !== 'origin').join(', ');
}

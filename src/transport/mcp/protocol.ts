/**
 * Dispatches requests by their revision of the protocol. Loaded with the first request (TC4).
 *
 * ```
 *   mcp-session-id         the session, or 404: the client begins again
 *   a request by itself    an endpoint of its own (2026-07-28)
 *   initialize             a new session
 *   anything else          400
 * ```
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { toNodeHandler, toWebRequest } from '@modelcontextprotocol/node';
import { createMcpHandler, isLegacyRequest } from '@modelcontextprotocol/server';
import { quote } from '#base';
import type { Api } from './api.ts';
import { type EndpointOptions, endpoint } from './endpoint.ts';
import { isNotificationOf, methodsOf, requestIdsOf } from './messages.ts';
import { refuse, refuseRequest } from './refusals.ts';
import { SESSION_HEADER } from './session-ids.ts';
import { type Asked, Sessions, type SessionsPorts } from './sessions.ts';

export interface ProtocolOptions extends EndpointOptions, Omit<SessionsPorts, 'endpoint'> {
  readonly onFault: (error: Error) => void;
}

const NOT_INITIALIZED = 'failed to create service: expect initialized notification';
/** Methods that MCP allows before a client is ready. */
const ALWAYS_ANSWERED: ReadonlySet<string> = new Set(['initialize', 'ping']);

export class Protocol {
  readonly #api: Api;
  readonly #sessions: Sessions;
  readonly #handler: ReturnType<typeof createMcpHandler>;
  readonly #single: ReturnType<typeof toNodeHandler>;

  constructor(options: ProtocolOptions) {
    const { onFault, api } = options;
    this.#api = api;
    this.#sessions = new Sessions({ ...options, endpoint: (authorization) => endpoint(options, authorization) });
    this.#handler = createMcpHandler(() => endpoint(options), { legacy: 'reject', onerror: onFault });
    this.#single = toNodeHandler(this.#handler, { onerror: onFault });
  }

  /**
   * Returns false, and answers, when the named session does not exist. The body is not read, because the client is not
   * authenticated yet.
   */
  hasSession(request: IncomingMessage, response: ServerResponse): boolean {
    const id = request.headers[SESSION_HEADER];
    if (typeof id !== 'string' || this.#sessions.has(id)) return true;
    refuseSession(response, id);
    return false;
  }

  async handle(asked: Asked): Promise<void> {
    const { request, response, body } = asked;
    const id = request.headers[SESSION_HEADER];
    if (typeof id === 'string') return this.#inSession(id, asked);
    if (!isReceived(request) || request.method !== 'POST')
      return refuse(response, 400, `${SESSION_HEADER} is required; begin with initialize`);
    // An `initialize` of revision 2026-07-28 goes there, too: it has no such method.
    if (!(await isLegacyRequest(await toWebRequest(request, body), body))) return this.#single(request, response, body);
    if (methodsOf(body).includes('initialize')) return this.#sessions.begin(asked);
    refuse(response, 400, `${SESSION_HEADER} is required but for initialize, whose answer has it`);
  }

  sweep(): Promise<void> {
    return this.#sessions.sweep();
  }

  async close(): Promise<void> {
    await this.#sessions.close();
    await this.#handler.close();
    this.#api.close();
  }

  async #inSession(id: string, { request, response, body, asker }: Asked): Promise<void> {
    const session = this.#sessions.find(id);
    if (session === undefined) return refuseSession(response, id);
    if (!session.admits(asker)) {
      return refuse(response, 403, 'The session was begun with another Authorization; begin a new one with this');
    }
    const asksEarly = requestIdsOf(body).length > 0 && methodsOf(body).some((method) => !ALWAYS_ANSWERED.has(method));
    if (isNotificationOf(body, 'notifications/initialized')) session.initialized();
    else if (asksEarly && !(await session.isReady())) return refuse(response, 400, NOT_INITIALIZED);
    const repeated = session.repeatedId(body);
    if (repeated !== undefined) {
      return refuseRequest(response, repeated, 'Another request of this session with the same id has no answer yet');
    }
    await session.handle(request, response, body);
  }
}

function refuseSession(response: ServerResponse, id: string): void {
  refuse(response, 404, `The session ${quote(id)} has ended, or never was; begin with initialize`);
}

/** Every request from a socket has both. */
function isReceived(request: IncomingMessage): request is IncomingMessage & { method: string; url: string } {
  return request.method !== undefined && request.url !== undefined;
}

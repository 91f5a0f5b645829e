/** Sessions of MCP protocol versions up to 2025-11-25. Later versions have none (endpoint.ts). */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node';
import type { Server } from '@modelcontextprotocol/server';
import type { McpSessionEnd } from '#observability';
import { INITIALIZED_WAIT_MS, SESSION_IDLE_MS, SESSIONS_MAX, SESSIONS_PER_PRINCIPAL_MAX } from './limits.ts';
import { cancelledIn, type RequestId, requestIdsOf } from './messages.ts';
import type { McpMeters } from './meters.ts';
import { RecentMessages } from './recent-messages.ts';

const OK = 200;

export interface SessionsPorts {
  /** `authorization`: that of initialize, for requests without one (authentication is off then). */
  readonly endpoint: (authorization: string | undefined) => Server;
  readonly mintId: () => string;
  readonly monotonicMs: () => number;
  readonly meters: McpMeters;
  /** Maximum number of sessions, in total and per principal. Default: the limits. */
  readonly sessionsMax?: { readonly all: number; readonly ofPrincipal: number };
}

const SESSIONS = { all: SESSIONS_MAX, ofPrincipal: SESSIONS_PER_PRINCIPAL_MAX };

export interface Asker {
  readonly authorization: string | undefined;
  /** The id of its principal; undefined without authentication. */
  readonly principal: string | undefined;
}

export class Session {
  readonly owner: Asker;
  readonly #transport: NodeStreamableHTTPServerTransport;
  readonly #initialized = Promise.withResolvers<void>();
  /** Ids of requests without an answer. The library maps answers to streams by id alone, so none may occur twice. */
  readonly #inFlight = new Set<RequestId>();
  #isInitialized = false;
  #open = 0;
  #idleSinceMs: number;
  readonly #monotonicMs: () => number;

  /** `owner`: sender of its initialize. */
  constructor(transport: NodeStreamableHTTPServerTransport, owner: Asker, monotonicMs: () => number) {
    this.#transport = transport;
    this.owner = owner;
    this.#monotonicMs = monotonicMs;
    this.#idleSinceMs = monotonicMs();
    const send = transport.send.bind(transport);
    transport.send = async (message, options) => {
      try {
        await send(message, options);
      } finally {
        if ('id' in message && !('method' in message) && message.id !== undefined) this.#inFlight.delete(message.id);
      }
    };
  }

  /**
   * Tells whether a request may use it (TC2): its principal began it; without authentication, its Authorization did.
   */
  admits({ authorization, principal }: Asker): boolean {
    if (principal !== this.owner.principal) return false;
    return principal !== undefined || authorization === undefined || authorization === this.owner.authorization;
  }

  /** Idle time; none while a request is open, such as the stream of a listening client. */
  get idleMs(): number {
    return this.#open > 0 ? Number.NEGATIVE_INFINITY : this.#monotonicMs() - this.#idleSinceMs;
  }

  /** Returns an id of the body that is in flight, or that occurs twice in the body. */
  repeatedId(body: unknown): RequestId | undefined {
    const seen = new Set(this.#inFlight);
    return requestIdsOf(body).find((id) => seen.size === seen.add(id).size);
  }

  /** The caller has found no repeated id in the body. */
  async handle(request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void> {
    const ids = requestIdsOf(body);
    for (const id of ids) this.#inFlight.add(id);
    for (const id of cancelledIn(body)) this.#inFlight.delete(id);
    this.#open += 1;
    response.once('close', () => {
      // The library refused the whole body: it answers none of its requests.
      if (response.statusCode !== OK) for (const id of ids) this.#inFlight.delete(id);
      this.#open -= 1;
      this.#idleSinceMs = this.#monotonicMs();
    });
    await this.#transport.handleRequest(request, response, body);
  }

  /** Waits for a moment until the client has said that it is ready: its requests may overtake that notification. */
  async isReady(): Promise<boolean> {
    if (this.#isInitialized) return true;
    await Promise.race([this.#initialized.promise, sleep(INITIALIZED_WAIT_MS, undefined, { ref: false })]);
    return this.#isInitialized;
  }

  initialized(): void {
    this.#isInitialized = true;
    this.#initialized.resolve();
  }

  close(): Promise<void> {
    return this.#transport.close();
  }
}

/** A request with its body, as JSON; undefined for methods without one. */
export interface Asked {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: unknown;
  readonly asker: Asker;
}

export class Sessions {
  readonly #ports: SessionsPorts;
  /** Ordered by last use. */
  readonly #byId = new Map<string, Session>();

  constructor(ports: SessionsPorts) {
    this.#ports = ports;
  }

  /** Does not count as a use. */
  has(id: string): boolean {
    return this.#byId.has(id);
  }

  find(id: string): Session | undefined {
    const session = this.#byId.get(id);
    if (session === undefined) return undefined;
    this.#byId.delete(id);
    this.#byId.set(id, session);
    return session;
  }

  /** Answers an `initialize`, which begins a session unless it is refused. */
  async begin({ request, response, body, asker }: Asked): Promise<void> {
    const { endpoint, mintId, monotonicMs, meters } = this.#ports;
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: mintId,
      eventStore: new RecentMessages(),
      onsessioninitialized: async (id) => {
        await this.#makeRoom(asker);
        this.#byId.set(id, session);
        meters.sessionBegun();
      },
      onsessionclosed: (id) => this.#forget(id, 'deleted'),
    });
    const session = new Session(transport, asker, monotonicMs);
    await endpoint(asker.authorization).connect(transport);
    await session.handle(request, response, body);
  }

  /** Ends idle sessions. */
  async sweep(): Promise<void> {
    for (const [id, session] of this.#byId) {
      if (session.idleMs > SESSION_IDLE_MS) await this.#end(id, session, 'idle');
    }
  }

  async close(): Promise<void> {
    for (const [id, session] of this.#byId) await this.#end(id, session, 'closing');
  }

  /** Evicts the idlest session: of the principal when it has too many, else of all. */
  async #makeRoom({ principal }: Asker): Promise<void> {
    const { all, ofPrincipal } = this.#ports.sessionsMax ?? SESSIONS;
    const own = principal === undefined ? [] : [...this.#byId].filter(([, { owner }]) => owner.principal === principal);
    const [displaced] = own.length >= ofPrincipal ? own : this.#byId.size >= all ? this.#byId : [];
    if (displaced !== undefined) await this.#end(...displaced, 'displaced');
  }

  async #end(id: string, session: Session, reason: McpSessionEnd): Promise<void> {
    this.#forget(id, reason);
    await session.close();
  }

  #forget(id: string, reason: McpSessionEnd): void {
    if (this.#byId.delete(id)) this.#ports.meters.sessionEnded(reason);
  }
}

/** The sessions of revisions up to 2025-11-25, which begin with `initialize` and are named by a header. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node';
import type { Server } from '@modelcontextprotocol/server';
import type { McpSessionEnd } from '#observability';
import { INITIALIZED_WAIT_MS, SESSION_IDLE_MS, SESSIONS_MAX } from './limits.ts';
import type { McpMeters } from './meters.ts';
import { RecentMessages } from './recent-messages.ts';

export interface SessionsPorts {
  readonly endpoint: (authorization: string | undefined) => Server;
  readonly mintId: () => string;
  readonly monotonicMs: () => number;
  readonly meters: McpMeters;
}

export class Session {
  /** That of its initialize. */
  readonly authorization: string | undefined;
  readonly #transport: NodeStreamableHTTPServerTransport;
  readonly #initialized = Promise.withResolvers<void>();
  #isInitialized = false;
  #open = 0;
  #idleSinceMs: number;
  readonly #monotonicMs: () => number;

  constructor(
    transport: NodeStreamableHTTPServerTransport,
    authorization: string | undefined,
    monotonicMs: () => number,
  ) {
    this.#transport = transport;
    this.authorization = authorization;
    this.#monotonicMs = monotonicMs;
    this.#idleSinceMs = monotonicMs();
  }

  /** Infinite while a request of it is open, such as the stream of a client that listens. */
  get stillMs(): number {
    return this.#open > 0 ? Number.NEGATIVE_INFINITY : this.#monotonicMs() - this.#idleSinceMs;
  }

  async handle(request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void> {
    this.#open += 1;
    response.once('close', () => {
      this.#open -= 1;
      this.#idleSinceMs = this.#monotonicMs();
    });
    await this.#transport.handleRequest(request, response, body);
  }

  /** What the client has said is ready, or says within a moment: its requests may overtake that it is. */
  async isReady(): Promise<boolean> {
    if (this.#isInitialized) return true;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, INITIALIZED_WAIT_MS);
    });
    await Promise.race([this.#initialized.promise, late]);
    clearTimeout(timer);
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

export class Sessions {
  readonly #ports: SessionsPorts;
  /** Those that were used last stand last. */
  readonly #byId = new Map<string, Session>();

  constructor(ports: SessionsPorts) {
    this.#ports = ports;
  }

  get count(): number {
    return this.#byId.size;
  }

  find(id: string): Session | undefined {
    const session = this.#byId.get(id);
    if (session === undefined) return undefined;
    this.#byId.delete(id);
    this.#byId.set(id, session);
    return session;
  }

  /** That of its initialize; asking is no use of it. */
  authorizationOf(id: string): string | undefined {
    return this.#byId.get(id)?.authorization;
  }

  /** Answers an `initialize`, which begins a session unless it is refused. */
  async begin(request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void> {
    const { endpoint, mintId, monotonicMs, meters } = this.#ports;
    const { authorization } = request.headers;
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: mintId,
      eventStore: new RecentMessages(),
      onsessioninitialized: async (id) => {
        await this.#makeRoom();
        this.#byId.set(id, session);
        meters.sessionBegun();
      },
      onsessionclosed: (id) => this.#forget(id, 'deleted'),
    });
    const session = new Session(transport, authorization, monotonicMs);
    await endpoint(authorization).connect(transport);
    await session.handle(request, response, body);
  }

  /** Ends those that nobody has used for long. */
  async sweep(): Promise<void> {
    for (const [id, session] of this.#byId) {
      if (session.stillMs > SESSION_IDLE_MS) await this.#end(id, session, 'idle');
    }
  }

  async close(): Promise<void> {
    for (const [id, session] of this.#byId) await this.#end(id, session, 'closing');
  }

  async #makeRoom(): Promise<void> {
    for (const [id, session] of this.#byId) {
      if (this.#byId.size < SESSIONS_MAX) return;
      await this.#end(id, session, 'displaced');
    }
  }

  async #end(id: string, session: Session, reason: McpSessionEnd): Promise<void> {
    this.#forget(id, reason);
    await session.close();
  }

  #forget(id: string, reason: McpSessionEnd): void {
    if (this.#byId.delete(id)) this.#ports.meters.sessionEnded(reason);
  }
}

/** The sessions of revisions up to 2025-11-25, which begin with `initialize` and are named by a header. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node';
import type { Server } from '@modelcontextprotocol/server';
import type { McpSessionEnd } from '#observability';
import { INITIALIZED_WAIT_MS, SESSION_IDLE_MS, SESSIONS_MAX } from './limits.ts';
import type { McpMeters } from './meters.ts';
import { RecentMessages } from './recent-messages.ts';

export interface SessionsPorts {
  /** `authorization`: as it is by then. */
  readonly endpoint: (authorization: () => string | undefined) => Server;
  readonly mintId: () => string;
  readonly monotonicMs: () => number;
  readonly meters: McpMeters;
}

/** Who sends a request. */
export interface Asker {
  readonly authorization: string | undefined;
  /** The id of its principal; undefined where everybody may do everything. */
  readonly principal: string | undefined;
}

export class Session {
  #owner: Asker;
  readonly #transport: NodeStreamableHTTPServerTransport;
  readonly #initialized = Promise.withResolvers<void>();
  #isInitialized = false;
  #open = 0;
  #idleSinceMs: number;
  readonly #monotonicMs: () => number;

  /** `owner`: who sends its initialize. */
  constructor(transport: NodeStreamableHTTPServerTransport, owner: Asker, monotonicMs: () => number) {
    this.#transport = transport;
    this.#owner = owner;
    this.#monotonicMs = monotonicMs;
    this.#idleSinceMs = monotonicMs();
  }

  /** That of its initialize, or what its owner has shown since: tokens are short-lived, and sessions need not be. */
  get authorization(): string | undefined {
    return this.#owner.authorization;
  }

  /** Whether a request may go on in it (TC2). What its owner shows now counts from now on. */
  admits(asker: Asker): boolean {
    const { authorization, principal } = asker;
    if (authorization === undefined || authorization === this.#owner.authorization) return true;
    if (principal === undefined || principal !== this.#owner.principal) return false;
    this.#owner = asker;
    return true;
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

/** A request with its body, as JSON; undefined for methods without one. */
export interface Asked {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: unknown;
  readonly asker: Asker;
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

  /** Asking is no use of it. */
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

  /** Of the session, as it is now; asking is no use of it. */
  authorizationOf(id: string): string | undefined {
    return this.#byId.get(id)?.authorization;
  }

  /** Answers an `initialize`, which begins a session unless it is refused. */
  async begin({ request, response, body, asker }: Asked): Promise<void> {
    const { endpoint, mintId, monotonicMs, meters } = this.#ports;
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
    const session = new Session(transport, asker, monotonicMs);
    await endpoint(() => session.authorization).connect(transport);
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

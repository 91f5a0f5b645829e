/** A real node with a database and published components of the examples. */
import { startTestServer, type TestServer } from './server.ts';
import { builtComponent } from './wasm/built.ts';

export type Route = 'state-views' | 'state-changes' | 'presenters';

export interface Reply {
  readonly status: number;
  readonly body: unknown;
}

export class ExampleNode implements AsyncDisposable {
  readonly server: TestServer;
  readonly #database: string;

  private constructor(server: TestServer, database: string) {
    this.server = server;
    this.#database = database;
  }

  static async start(database: string, ...settings: readonly string[]): Promise<ExampleNode> {
    const server = await startTestServer(...settings);
    const node = new ExampleNode(server, database);
    await node.#sent(`/api/v1/databases/${database}`, { method: 'POST' }, 201);
    return node;
  }

  /** Publishes the component of a module of the examples, or the given bytes. */
  async publish(route: Route, metadata: object, component: string | Uint8Array): Promise<void> {
    const bytes = typeof component === 'string' ? await builtComponent(`examples/${component}`) : component;
    const form = new FormData();
    form.append('metadata', JSON.stringify(metadata));
    form.append('wasm', new Blob([new Uint8Array(bytes)]));
    await this.#sent(`/api/v1/db/${this.#database}/${route}`, { method: 'POST', body: form }, 201);
  }

  /** Commits one transaction and returns its revision. */
  async commit(...events: readonly object[]): Promise<number> {
    const body = JSON.stringify({ events: events.map((event) => ({ specversion: '1.0', ...event })) });
    const headers = { 'content-type': 'application/json' };
    const answer = await this.#sent(`/databases/${this.#database}/events`, { method: 'POST', body, headers }, 200);
    return ((await answer.json()) as { readonly revision: number }).revision;
  }

  /** Executes a command with version 1 of a State Change. */
  async execute(change: string, command: { method: string; path: string; body?: object }): Promise<Reply> {
    const path = `/api/v1/db/${this.#database}/state-changes/${change}/v1/execute`;
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify(command);
    const answer = await fetch(`${this.server.http}${path}`, { method: 'POST', body, headers });
    return { status: answer.status, body: await answer.json() };
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return fetch(`${this.server.http}${path}`, { headers });
  }

  /** All events, from the first one. */
  async events(): Promise<readonly StoredEvent[]> {
    const all: StoredEvent[] = [];
    for (let after = ''; ; ) {
      const answer = await this.#sent(`/databases/${this.#database}/events?limit=1000${after}`, {}, 200);
      const page = (await answer.json()) as { events: StoredEvent[]; has_more: boolean; next_cursor?: string };
      all.push(...page.events);
      if (!page.has_more) return all;
      after = `&after=${page.next_cursor}`;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
  }

  async #sent(path: string, request: RequestInit, expected: number): Promise<Response> {
    const answer = await fetch(`${this.server.http}${path}`, request);
    if (answer.status === expected) return answer;
    throw new Error(`${request.method ?? 'GET'} ${path} is answered ${answer.status}: ${await answer.text()}`);
  }
}

export interface StoredEvent {
  readonly type: string;
  readonly source: string;
  readonly subject?: string;
  readonly revision: number;
  readonly data: Readonly<Record<string, string | number>>;
}

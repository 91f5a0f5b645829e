/** What sessions are run against. */
import { GrpcClient } from './clients/grpc.ts';
import { HttpClient } from './clients/http.ts';
import { McpClient } from './clients/mcp.ts';
import type { Answer, Sent } from './model/vocabulary.ts';

export interface ModelNode {
  send(sent: Sent): Promise<Answer>;
  /** Only where it is a process of its own. */
  kill?(): Promise<void>;
  start?(): Promise<void>;
}

/** Nodes that have the same databases. */
export type Deployment = readonly ModelNode[];

export interface Nodes extends AsyncDisposable {
  readonly deployments: readonly Deployment[];
  /** What they have logged as an error. */
  readonly errors: readonly string[];
}

/** Where a node is reached. */
export interface Addresses {
  readonly grpc: string;
  readonly http: string;
  readonly mcp: string;
}

export class Clients implements ModelNode, Disposable {
  readonly #grpc: GrpcClient;
  readonly #http: HttpClient;
  readonly #mcp: McpClient;

  constructor({ grpc, http, mcp }: Addresses) {
    [this.#grpc, this.#http, this.#mcp] = [new GrpcClient(grpc), new HttpClient(http), new McpClient(mcp)];
  }

  send(sent: Sent): Promise<Answer> {
    if (sent.isTool === true) return this.#mcp.send(sent);
    return (/^[A-Z]+ /.test(sent.request.via) ? this.#http : this.#grpc).send(sent);
  }

  [Symbol.dispose](): void {
    for (const client of [this.#grpc, this.#http, this.#mcp]) client[Symbol.dispose]();
  }
}

/** Until then a database may get fewer replicas than it should. */
export async function untilVoters(metrics: string, count: number): Promise<void> {
  for (const endMs = Date.now() + 30_000; Date.now() < endMs; ) {
    const text = await (await fetch(metrics)).text();
    if (text.includes(`\ncairn_raft_members{role="voter"} ${count}\n`)) return;
  }
  throw new Error(`the catalog has not come to ${count} voters`);
}

/** What sessions are run against. */
import { GrpcClient } from './clients/grpc.ts';
import { HttpClient } from './clients/http.ts';
import { McpClient } from './clients/mcp.ts';
import type { Answer, Sent } from './model/vocabulary.ts';

const START_MS = 30_000;
const OK = 200;

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

/**
 * Resolves when all nodes vote, before which a database may get fewer replicas, and each of them answers reads: a node
 * that has joined does when it has heard from a leader of the catalog.
 */
export async function untilServing(
  nodes: readonly { readonly http: string; readonly metrics: string }[],
): Promise<void> {
  const endMs = Date.now() + START_MS;
  const voters = `\ncairn_raft_members{role="voter"} ${nodes.length}\n`;
  for (const { http, metrics } of nodes) {
    while (!(await textOf(metrics)).includes(voters) || (await fetch(`${http}/databases`)).status !== OK) {
      if (Date.now() > endMs) throw new Error(`${http} does not serve in a cluster of ${nodes.length} voters`);
    }
  }
}

async function textOf(url: string): Promise<string> {
  return (await fetch(url)).text();
}

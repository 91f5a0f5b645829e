/** The nodes that sessions run against, with a client for each interface. */
import { GrpcClient } from './clients/grpc.ts';
import { HttpClient } from './clients/http.ts';
import { McpClient } from './clients/mcp.ts';
import type { Answer, Sent } from './model/vocabulary.ts';

const START_MS = 30_000;
const OK = 200;

export interface ModelNode {
  send(sent: Sent): Promise<Answer>;
  /** Only for nodes in separate processes. */
  kill?(): Promise<void>;
  start?(): Promise<void>;
}

/** Nodes with the same databases. */
export type Deployment = readonly ModelNode[];

export interface Nodes extends AsyncDisposable {
  readonly deployments: readonly Deployment[];
  /** Errors that the nodes have logged. */
  readonly errors: readonly string[];
}

/** Addresses of a node. */
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
 * Resolves when all nodes are voters and answer reads. Earlier, a database may get fewer replicas; a joined node
 * answers once it has received a heartbeat from the catalog leader.
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

/** The MCP endpoint of a node, unless it is off. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { NodeId } from '#base';
import type { Node } from '#cluster';
import type { Logger, Metrics, Tracer } from '#observability';
import type { Access, ByteBudgets, Dial, McpServer, RateLimits, startMcpServer } from '#transport';
import { untilFree } from './free-port.ts';
import { PACKAGE_DIR, RELEASE } from './release.ts';
import type { Config } from './settings.ts';
import type { Tls } from './tls.ts';

export interface McpParts {
  readonly transport: { readonly startMcpServer: typeof startMcpServer };
  /** Where this process reaches its HTTP API: `http://host:port`, or `https:`. */
  readonly api: string;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly node: Node;
  /** How other nodes are reached. */
  readonly dial: Dial;
  readonly budgets: ByteBudgets;
  readonly access: Access | undefined;
  readonly rateLimits: RateLimits | undefined;
  readonly tls: Tls;
  readonly tracer: Tracer | undefined;
}

/** Listens when the promise resolves. @throws DatabaseError when the address cannot be had. */
export async function openMcp(
  { host, mcpPort: port, nodeName: name }: Config,
  parts: McpParts,
): Promise<McpServer | undefined> {
  if (port === 'off') return undefined;
  const { transport, api, logger, metrics, budgets, access, rateLimits, tls, tracer, node, dial } = parts;
  await untilFree({ host, port }, logger);
  const docs = join(PACKAGE_DIR, 'docs');
  const version = RELEASE;
  const secure = { secure: tls.ports, dialApi: tls.dialSelf };
  const shared = { budgets, logger, metrics, access, rateLimits, tracer, ...secure };
  const nodes = { own: node.identity.node, name, urlOf: (other: NodeId) => mcpOf(node, other) };
  return transport.startMcpServer({ host, port, api, version, docs, nodes, dial, ...shared, mintId: randomUUID });
}

/** By the catalog as it is here. */
function mcpOf({ catalog }: Node, other: NodeId): string | undefined {
  const known = catalog.nodes().find((each) => each.node === other);
  return known?.state === 'removed' ? undefined : known?.mcp;
}

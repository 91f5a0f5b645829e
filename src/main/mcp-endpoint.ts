/** Starts the MCP endpoint of a node, unless it is off. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { NodeId } from '#base';
import type { Node } from '#cluster';
import type { McpServerOptions, startMcpServer, WebServer } from '#transport';
import { PACKAGE_DIR, RELEASE } from './release.ts';
import type { Config } from './settings.ts';
import type { Tls } from './tls.ts';

type Shared = 'api' | 'logger' | 'metrics' | 'budgets' | 'access' | 'rateLimits' | 'tracer' | 'held' | 'relay';

export interface McpParts extends Pick<McpServerOptions, Shared> {
  readonly transport: { readonly startMcpServer: typeof startMcpServer };
  /** Turns a listening address into the URL that clients use. */
  readonly urlOf: (address: string) => string;
  readonly node: Node;
  readonly tls: Tls;
}

/** Resolves when the endpoint listens. @throws DatabaseError when the address cannot be bound. */
export async function openMcp(config: Config, parts: McpParts): Promise<WebServer | undefined> {
  const { host, mcpPort: port, corsOrigins: allowedOrigins } = config;
  if (port === 'off') return undefined;
  const { transport, urlOf, node, tls, ...shared } = parts;
  return transport.startMcpServer({
    ...shared,
    host,
    port,
    allowedOrigins,
    docs: join(PACKAGE_DIR, 'docs'),
    version: RELEASE,
    secure: tls.ports,
    dialApi: tls.dialSelf,
    nodes: { own: node.identity.node, urlOf: (other) => mcpOf(node, other) },
    resourceAt: resourceIn(config, urlOf),
    mintId: randomUUID,
  });
}

/**
 * The OAuth resource of the endpoint, if there is an identity provider. API keys and tokens of the cluster are handed
 * out by people, so clients need no resource for them.
 */
function resourceIn({ oidcIssuer: issuer, mcpUrl }: Config, urlOf: McpParts['urlOf']): McpServerOptions['resourceAt'] {
  if (issuer === 'none') return undefined;
  return (address) => ({ url: mcpUrl === 'auto' ? new URL(urlOf(address)).href : mcpUrl, issuer });
}

/** MCP address of another node in the local catalog. */
function mcpOf({ catalog }: Node, other: NodeId): string | undefined {
  const known = catalog.nodes().find((each) => each.node === other);
  return known?.state === 'removed' ? undefined : known?.mcp;
}

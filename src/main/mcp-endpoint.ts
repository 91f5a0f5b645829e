/** Starts the MCP endpoint of a node, unless it is off. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { NodeId } from '#base';
import type { Node } from '#cluster';
import type { Logger, Metrics, Tracer } from '#observability';
import type {
  Access,
  ByteBudgets,
  HeldPort,
  McpServerOptions,
  RateLimits,
  Relay,
  startMcpServer,
  WebServer,
} from '#transport';
import { PACKAGE_DIR, RELEASE } from './release.ts';
import type { Config } from './settings.ts';
import type { Tls } from './tls.ts';

export interface McpParts {
  readonly transport: { readonly startMcpServer: typeof startMcpServer };
  /** Turns a listening address into the URL that clients use. */
  readonly urlOf: (address: string) => string;
  /** URL at which this process reaches its own HTTP API: `http://host:port`, or `https:`. */
  readonly api: string;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly node: Node;
  readonly relay: Relay;
  readonly budgets: ByteBudgets;
  readonly access: Access | undefined;
  readonly rateLimits: RateLimits | undefined;
  readonly tls: Tls;
  readonly held: HeldPort | undefined;
  readonly tracer: Tracer | undefined;
}

/** Resolves when the endpoint listens. @throws DatabaseError when the address cannot be bound. */
export async function openMcp(config: Config, parts: McpParts): Promise<WebServer | undefined> {
  const { host, mcpPort: port } = config;
  if (port === 'off') return undefined;
  const { transport, api, held, logger, metrics, budgets, access, rateLimits, tls, tracer, node, relay } = parts;
  const docs = join(PACKAGE_DIR, 'docs');
  const version = RELEASE;
  const ways = { relay, secure: tls.ports, dialApi: tls.dialSelf };
  const resourceAt = resourceIn(config, parts);
  const allowedOrigins = config.corsOrigins;
  const shared = { resourceAt, allowedOrigins, budgets, logger, metrics, access, rateLimits, tracer, ...ways };
  const nodes = { own: node.identity.node, urlOf: (other: NodeId) => mcpOf(node, other) };
  return transport.startMcpServer({ host, port, held, api, version, docs, nodes, ...shared, mintId: randomUUID });
}

/**
 * The OAuth resource of the endpoint, if there is an identity provider. API keys and tokens of the cluster are handed
 * out by people, so clients need no resource for them.
 */
function resourceIn(
  { oidcIssuer: issuer, mcpUrl }: Config,
  { urlOf }: Pick<McpParts, 'urlOf'>,
): McpServerOptions['resourceAt'] {
  if (issuer === 'none') return undefined;
  return (address) => ({ url: mcpUrl === 'auto' ? new URL(urlOf(address)).href : mcpUrl, issuer });
}

/** MCP address of another node in the local catalog. */
function mcpOf({ catalog }: Node, other: NodeId): string | undefined {
  const known = catalog.nodes().find((each) => each.node === other);
  return known?.state === 'removed' ? undefined : known?.mcp;
}

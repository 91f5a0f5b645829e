/** The MCP endpoint of a node, unless it is off. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Logger, Metrics, Tracer } from '#observability';
import type { Access, ByteBudgets, McpServer, RateLimits, startMcpServer } from '#transport';
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
  readonly budgets: ByteBudgets;
  readonly access: Access | undefined;
  readonly rateLimits: RateLimits | undefined;
  readonly tls: Tls;
  readonly tracer: Tracer | undefined;
}

/** Listens when the promise resolves. @throws DatabaseError when the address cannot be had. */
export async function openMcp({ host, mcpPort: port }: Config, parts: McpParts): Promise<McpServer | undefined> {
  if (port === 'off') return undefined;
  const { transport, api, logger, metrics, budgets, access, rateLimits, tls, tracer } = parts;
  await untilFree({ host, port }, logger);
  const docs = join(PACKAGE_DIR, 'docs');
  const version = RELEASE;
  const secure = { secure: tls.ports, dialApi: tls.dialSelf };
  const shared = { budgets, logger, metrics, access, rateLimits, tracer, ...secure };
  return transport.startMcpServer({ host, port, api, version, docs, ...shared, mintId: randomUUID });
}

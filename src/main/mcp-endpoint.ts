/** The MCP endpoint of a node, unless it is off. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Logger, Metrics } from '#observability';
import type { ByteBudgets, McpServer, startMcpServer } from '#transport';
import { untilFree } from './free-port.ts';
import { PACKAGE_DIR, RELEASE } from './release.ts';
import type { Config } from './settings.ts';

interface McpParts {
  readonly transport: { readonly startMcpServer: typeof startMcpServer };
  /** Where this process reaches its HTTP API: `http://host:port`. */
  readonly api: string;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly budgets: ByteBudgets;
}

/** Listens when the promise resolves. @throws DatabaseError when the address cannot be had. */
export async function openMcp({ host, mcpPort: port }: Config, parts: McpParts): Promise<McpServer | undefined> {
  if (port === 'off') return undefined;
  const { transport, api, logger, metrics, budgets } = parts;
  await untilFree({ host, port }, logger);
  const docs = join(PACKAGE_DIR, 'docs');
  const version = RELEASE;
  return transport.startMcpServer({ host, port, api, version, docs, budgets, logger, metrics, mintId: randomUUID });
}

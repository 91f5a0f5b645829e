/** Metrics of MCP: sessions, and messages of clients by method. */
import { type Count, type Level, MCP_METHODS, type McpMethod, type McpSessionEnd, type Metrics } from '#observability';

const OTHER: McpMethod = 'other';

export class McpMeters {
  readonly #metrics: Metrics;
  readonly #open: Level;
  readonly #begun: Count;

  constructor(metrics: Metrics) {
    this.#metrics = metrics;
    this.#open = metrics.gauge('cairn_mcp_sessions', {});
    this.#begun = metrics.counter('cairn_mcp_sessions_begun_total', {});
  }

  sessionBegun(): void {
    this.#begun.add();
    this.#open.move(1);
  }

  sessionEnded(reason: McpSessionEnd): void {
    this.#metrics.counter('cairn_mcp_sessions_ended_total', { reason }).add();
    this.#open.move(-1);
  }

  asked(methods: readonly string[]): void {
    for (const each of methods) {
      const method = MCP_METHODS.find((known) => known === each) ?? OTHER;
      this.#metrics.counter('cairn_mcp_requests_total', { method }).add();
    }
  }
}

/** What is counted of MCP: sessions, and the messages of clients by what they ask for. */
import { type Count, type Level, MCP_METHODS, type McpMethod, type McpSessionEnd, type Metrics, type Observe } from '#observability';

const MS_PER_SECOND = 1_000;
const OTHER: McpMethod = 'other';

export class McpMeters {
  readonly #metrics: Metrics;
  readonly #open: Level;
  readonly #begun: Count;
  readonly #ended = new Map<McpSessionEnd, Count>();
  readonly #durations = new Map<McpMethod, Observe>();

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
    const count = this.#ended.get(reason) ?? this.#metrics.counter('cairn_mcp_sessions_ended_total', { reason });
    this.#ended.set(reason, count);
    count.add();
    this.#open.move(-1);
  }

  /** The answer to these is over. */
  answered(methods: readonly string[], elapsedMs: number): void {
    for (const each of methods) {
      const method = MCP_METHODS.find((known) => known === each) ?? OTHER;
      const duration =
        this.#durations.get(method) ?? this.#metrics.histogram('cairn_mcp_request_duration_seconds', { method });
      this.#durations.set(method, duration);
      duration.observe(elapsedMs / MS_PER_SECOND);
    }
  }
}

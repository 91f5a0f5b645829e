/** What is cheaper to read just before a scrape than to keep: how much there is of everything. */
import type { Node } from '#cluster';
import type { Metrics } from '#observability';
import type { ByteBudgets } from '#transport';

/** Databases beyond this are not looked at one by one: the label is bounded, and so is the time of a scrape. */
const DATABASES_SHOWN_MAX = 100;

export function showNode(node: Node, metrics: Metrics): void {
  const databases = metrics.gauge('cairn_databases', {});
  const pending = metrics.gauge('cairn_raft_proposals_pending', {});
  metrics.beforeScrape(() => {
    const bindings = node.catalog.list();
    databases.set(bindings.length);
    pending.set(node.health().pendingProposals);
    for (const { name, group } of bindings.slice(0, DATABASES_SHOWN_MAX)) {
      metrics.gauge('cairn_database_revision', { database: name }).set(node.applied(group));
    }
  });
}

/** What clients hold. */
export function showBudgets({ requests, unsent }: ByteBudgets, metrics: Metrics): void {
  const requestBytes = metrics.gauge('cairn_request_memory_bytes', {});
  const unsentBytes = metrics.gauge('cairn_unsent_memory_bytes', {});
  metrics.beforeScrape(() => {
    requestBytes.set(requests.used);
    unsentBytes.set(unsent.used);
  });
}

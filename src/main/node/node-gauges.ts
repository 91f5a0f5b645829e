/** Gauges that are computed for each scrape, because that is cheaper than keeping them up to date. */
import type { Node } from '#cluster';
import type { Metrics, Series } from '#observability';
import type { ByteBudgets } from '#transport';

export function showNode(node: Node, metrics: Metrics): void {
  const databases = metrics.gauge('cairn_databases', {});
  const recovered = metrics.gauge('cairn_databases_recovered', {});
  const version = metrics.gauge('cairn_cluster_version', {});
  const pending = metrics.gauge('cairn_raft_proposals_pending', {});
  metrics.beforeScrape(() => {
    const bindings = node.catalog.list();
    databases.set(bindings.length);
    recovered.set(bindings.filter(({ recovery }) => recovery !== undefined).length);
    version.set(node.catalog.level);
    pending.set(node.health().pendingProposals);
    metrics.setSeries('cairn_database_revision', revisions(node));
  });
}

/** Sorted by name, so that nodes show the same databases when there are more than the label may have values. */
function* revisions(node: Node): Generator<Series<'cairn_database_revision'>> {
  for (const { name, group } of node.catalog.list()) {
    const value = node.readable(group);
    // A replica that is not served has no known revision.
    if (value > 0 || node.absence(group) === undefined) yield { labels: { database: name }, value };
  }
}

/** Shows the memory that clients use. */
export function showBudgets({ requests, streams, unsent, small }: ByteBudgets, metrics: Metrics): void {
  const requestBytes = metrics.gauge('cairn_request_memory_bytes', {});
  const unsentBytes = metrics.gauge('cairn_unsent_memory_bytes', {});
  metrics.beforeScrape(() => {
    requestBytes.set(requests.used + streams.used);
    unsentBytes.set(unsent.used + small.used);
  });
}

/** Metrics that are computed for each scrape, because that is cheaper than keeping them up to date. */
import type { Node } from '#cluster';
import type { GuestCache, GuestPool, Metrics, Series } from '#observability';
import type { ByteBudgets } from '#transport';
import type { CallListener } from '#wasm';
import type { GuestFigures, Guests } from './guests.ts';

type PoolFigures = GuestFigures['pools'][GuestPool];
type CacheFigures = GuestFigures['caches'][GuestCache];

const MS_PER_SECOND = 1000;

/** Records the duration of calls by component and result. */
export function callMeter(metrics: Metrics): CallListener {
  return (digest, result, ms) => {
    metrics.histogram('cairn_component_call_duration_seconds', { digest, result }).observe(ms / MS_PER_SECOND);
  };
}

/** Shows the metrics from the first scrape on; they are 0 until a component is used. */
export function showGuests(guests: Pick<Guests, 'figures'>, metrics: Metrics): void {
  metrics.beforeScrape(() => {
    const figures = guests.figures();
    for (const pool of ['views', 'changes', 'presenters'] as const) showPool(pool, figures?.pools[pool], metrics);
    for (const kind of ['artifacts', 'states'] as const) showCache(kind, figures?.caches[kind], metrics);
    showViews(figures, metrics);
  });
}

const POOL_TOTALS = [
  ['cairn_guest_calls_total', 'calls'],
  ['cairn_guest_fuel_total', 'fuel'],
  ['cairn_guest_host_calls_total', 'hostCalls'],
  ['cairn_guest_processes_started_total', 'starts'],
  ['cairn_guest_processes_killed_total', 'kills'],
  ['cairn_guest_processes_recycled_total', 'recycled'],
] as const;

const POOL_LEVELS = [
  ['cairn_guest_waiting_calls', 'waiting'],
  ['cairn_guest_resident_bytes', 'residentBytes'],
  ['cairn_guest_quarantined_components', 'quarantined'],
] as const;

function showPool(pool: GuestPool, figures: PoolFigures | undefined, metrics: Metrics): void {
  for (const [name, figure] of POOL_TOTALS) metrics.counter(name, { pool }).raiseTo(figures?.[figure] ?? 0);
  for (const [name, figure] of POOL_LEVELS) metrics.gauge(name, { pool }).set(figures?.[figure] ?? 0);
  for (const [code, count] of figures?.faults ?? [])
    metrics.counter('cairn_guest_faults_total', { pool, code }).raiseTo(count);
}

function showCache(kind: GuestCache, figures: CacheFigures | undefined, metrics: Metrics): void {
  metrics.gauge('cairn_guest_cache_bytes', { kind }).set(figures?.bytes ?? 0);
  metrics.counter('cairn_guest_cache_damaged_total', { kind }).raiseTo(figures?.damaged ?? 0);
  metrics.counter('cairn_guest_cache_refused_total', { kind }).raiseTo(figures?.refused ?? 0);
}

function showViews(figures: GuestFigures | undefined, metrics: Metrics): void {
  const { folds, maintenance } = figures ?? {};
  const folded = { reads: folds?.readEvents, maintenance: folds?.advancedEvents };
  for (const by of ['reads', 'maintenance'] as const)
    metrics.counter('cairn_stateview_events_folded_total', { by }).raiseTo(folded[by] ?? 0);
  for (const result of ['advanced', 'restarted', 'failed'] as const)
    metrics.counter('cairn_stateview_maintenance_steps_total', { result }).raiseTo(maintenance?.steps[result] ?? 0);
  for (const mode of ['eager', 'scheduled'] as const)
    metrics.gauge('cairn_stateview_maintained', { mode }).set(maintenance?.maintained[mode] ?? 0);
  metrics.gauge('cairn_stateview_maintenance_troubled', {}).set(maintenance?.troubled ?? 0);
  // Sorted by name, so that all nodes show the same databases when there are more than the label may have values.
  const lags = [...(maintenance?.lags ?? [])].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const series = lags.map(([database, value]) => ({ labels: { database }, value }));
  metrics.setSeries('cairn_stateview_lag_revisions', series);
}

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

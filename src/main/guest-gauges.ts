/** Metrics of the components on this node. */
import type { GuestCache, GuestFault, GuestPool, Metrics, Series } from '#observability';
import type { CallListener } from '#wasm';
import type { GuestFigures, Guests } from './guests.ts';

type Figures = GuestFigures['pools'][GuestPool];
type Caches = GuestFigures['caches'][GuestCache];

const MS_PER_SECOND = 1000;

/** Records the duration of calls by component and result. */
export function callMeter(metrics: Metrics): CallListener {
  return (digest, result, ms) => {
    metrics.histogram('cairn_component_call_duration_seconds', { digest, result }).observe(ms / MS_PER_SECOND);
  };
}

/** Registers the metrics from the first scrape on; they are 0 until a component is used. */
export function showGuests(guests: Pick<Guests, 'figures'>, metrics: Metrics): void {
  const views = poolGauges('views', metrics);
  const changes = poolGauges('changes', metrics);
  const presenters = poolGauges('presenters', metrics);
  const artifacts = cacheGauges('artifacts', metrics);
  const states = cacheGauges('states', metrics);
  const stateViews = viewGauges(metrics);
  metrics.beforeScrape(() => {
    const figures = guests.figures();
    if (figures === undefined) return;
    views(figures.pools.views);
    changes(figures.pools.changes);
    presenters(figures.pools.presenters);
    artifacts(figures.caches.artifacts);
    states(figures.caches.states);
    stateViews(figures);
  });
}

function viewGauges(metrics: Metrics): (figures: GuestFigures) => void {
  const reads = rising(metrics.counter('cairn_stateview_events_folded_total', { by: 'reads' }));
  const maintenance = rising(metrics.counter('cairn_stateview_events_folded_total', { by: 'maintenance' }));
  const results = (['advanced', 'restarted', 'failed'] as const).map((result) => {
    const raise = rising(metrics.counter('cairn_stateview_maintenance_steps_total', { result }));
    return ({ steps }: GuestFigures['maintenance']) => raise(steps[result]);
  });
  const eager = metrics.gauge('cairn_stateview_maintained', { mode: 'eager' });
  const scheduled = metrics.gauge('cairn_stateview_maintained', { mode: 'scheduled' });
  const troubled = metrics.gauge('cairn_stateview_maintenance_troubled', {});
  for (const gauge of [eager, scheduled, troubled]) gauge.set(0);
  return ({ folds, maintenance: kept }) => {
    reads(folds.readEvents);
    maintenance(folds.advancedEvents);
    for (const show of results) show(kept);
    eager.set(kept.maintained.eager);
    scheduled.set(kept.maintained.scheduled);
    troubled.set(kept.troubled);
    metrics.setSeries('cairn_stateview_lag_revisions', lagSeries(kept));
  };
}

/** Sorted by name, so that all nodes show the same databases when there are more than the label may have values. */
function lagSeries({ lags }: GuestFigures['maintenance']): readonly Series<'cairn_stateview_lag_revisions'>[] {
  const named = [...lags].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return named.map(([database, value]) => ({ labels: { database }, value }));
}

function poolGauges(pool: GuestPool, metrics: Metrics): (figures: Figures) => void {
  const calls = rising(metrics.counter('cairn_guest_calls_total', { pool }));
  const fuel = rising(metrics.counter('cairn_guest_fuel_total', { pool }));
  const hostCalls = rising(metrics.counter('cairn_guest_host_calls_total', { pool }));
  const started = rising(metrics.counter('cairn_guest_processes_started_total', { pool }));
  const killed = rising(metrics.counter('cairn_guest_processes_killed_total', { pool }));
  const recycled = rising(metrics.counter('cairn_guest_processes_recycled_total', { pool }));
  const waiting = metrics.gauge('cairn_guest_waiting_calls', { pool });
  const resident = metrics.gauge('cairn_guest_resident_bytes', { pool });
  const quarantined = metrics.gauge('cairn_guest_quarantined_components', { pool });
  for (const gauge of [waiting, resident, quarantined]) gauge.set(0);
  const faults = new Map<GuestFault, (total: number) => void>();
  return (figures) => {
    calls(figures.calls);
    fuel(figures.fuel);
    hostCalls(figures.hostCalls);
    started(figures.starts);
    killed(figures.kills);
    recycled(figures.recycled);
    waiting.set(figures.waiting);
    resident.set(figures.residentBytes);
    quarantined.set(figures.quarantined);
    for (const [code, count] of figures.faults) {
      const raise = faults.get(code) ?? rising(metrics.counter('cairn_guest_faults_total', { pool, code }));
      faults.set(code, raise);
      raise(count);
    }
  };
}

function cacheGauges(kind: GuestCache, metrics: Metrics): (figures: Caches) => void {
  const bytes = metrics.gauge('cairn_guest_cache_bytes', { kind });
  bytes.set(0);
  const damaged = rising(metrics.counter('cairn_guest_cache_damaged_total', { kind }));
  const refused = rising(metrics.counter('cairn_guest_cache_refused_total', { kind }));
  return (figures) => {
    bytes.set(figures.bytes);
    damaged(figures.damaged);
    refused(figures.refused);
  };
}

/** Adds the increase of a total since the last update to a counter. */
function rising(counter: { add(by: number): void }): (total: number) => void {
  let before = 0;
  return (total) => {
    counter.add(total - before);
    before = total;
  };
}

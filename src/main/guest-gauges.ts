/** What components do on this node, as its metrics show it. */
import type { GuestCache, GuestFault, GuestPool, Metrics } from '#observability';
import type { GuestFigures, Guests } from './guests.ts';

type Figures = GuestFigures['pools'][GuestPool];
type Caches = GuestFigures['caches'][GuestCache];

/** Shown from the first scrape on; while nothing was used, as 0. */
export function showGuests(guests: Pick<Guests, 'figures'>, metrics: Metrics): void {
  const views = poolGauges('views', metrics);
  const changes = poolGauges('changes', metrics);
  const presenters = poolGauges('presenters', metrics);
  const artifacts = cacheGauges('artifacts', metrics);
  const states = cacheGauges('states', metrics);
  metrics.beforeScrape(() => {
    const figures = guests.figures();
    if (figures === undefined) return;
    views(figures.pools.views);
    changes(figures.pools.changes);
    presenters(figures.pools.presenters);
    artifacts(figures.caches.artifacts);
    states(figures.caches.states);
  });
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

/** Counts what a total has risen by since it was last told. */
function rising(counter: { add(by: number): void }): (total: number) => void {
  let before = 0;
  return (total) => {
    counter.add(total - before);
    before = total;
  };
}

// Goal: what components do on a node is shown by its metrics, each pool and cache by itself, and counters rise by what
// was new since the last scrape. Method: figures that are given, two scrapes.
import { expect, test } from 'vitest';
import { createMetrics, GAUGES } from '#observability';
import { FAULT_CODES } from '#wasm';
import { callMeter, showGuests } from '../../../../src/main/node/gauges.ts';
import type { GuestFigures } from '../../../../src/main/node/guests.ts';

/** Different in each of its numbers from those of another base. */
function pool(base: number): GuestFigures['pools']['views'] {
  return {
    calls: base + 1,
    faults: new Map(FAULT_CODES.map((code, at) => [code, base + at])),
    fuel: base + 2,
    hostCalls: base + 3,
    starts: base + 4,
    kills: base + 5,
    recycled: base + 6,
    quarantined: base + 7,
    waiting: base + 8,
    residentBytes: base + 9,
  };
}

function cache(base: number): GuestFigures['caches']['states'] {
  return { files: base, bytes: base + 1, memoryBytes: base + 2, damaged: base + 3, refused: base + 4 };
}

function figures(base: number): GuestFigures {
  return {
    pools: { views: pool(base), changes: pool(base + 100), presenters: pool(base + 200) },
    caches: { artifacts: cache(base), states: cache(base + 100) },
    folds: { readEvents: base + 1, advancedEvents: base + 2 },
    maintenance: {
      steps: { advanced: base + 3, restarted: base + 4, failed: base + 5 },
      maintained: { eager: base + 6, scheduled: base + 7 },
      troubled: base + 8,
      lags: new Map([
        ['two', base + 9],
        ['one', base + 10],
      ]),
    },
  };
}

function linesOf(body: string): readonly string[] {
  return body.split('\n').filter((line) => /^cairn_(?:guest|stateview)_/.test(line));
}

/** Series of a scrape. */
function expected(base: number): readonly string[] {
  const poolNames = ['calls_total', 'fuel_total', 'host_calls_total', 'processes_started_total'].concat([
    'processes_killed_total',
    'processes_recycled_total',
    'quarantined_components',
    'waiting_calls',
    'resident_bytes',
  ]);
  const pools = Object.entries({ views: base, changes: base + 100, presenters: base + 200 });
  const caches = Object.entries({ artifacts: base, states: base + 100 });
  const views = [
    'events_folded_total{by="reads"}',
    'events_folded_total{by="maintenance"}',
    'maintenance_steps_total{result="advanced"}',
    'maintenance_steps_total{result="restarted"}',
    'maintenance_steps_total{result="failed"}',
    'maintained{mode="eager"}',
    'maintained{mode="scheduled"}',
    'maintenance_troubled',
    'lag_revisions{database="two"}',
    'lag_revisions{database="one"}',
  ];
  return [
    ...pools.flatMap(([kind, from]) => [
      ...poolNames.map((name, at) => `cairn_guest_${name}{pool="${kind}"} ${from + at + 1}`),
      ...FAULT_CODES.map((code, at) => `cairn_guest_faults_total{pool="${kind}",code="${code}"} ${from + at}`),
    ]),
    ...caches.flatMap(([kind, from]) => [
      `cairn_guest_cache_bytes{kind="${kind}"} ${from + 1}`,
      `cairn_guest_cache_damaged_total{kind="${kind}"} ${from + 3}`,
      `cairn_guest_cache_refused_total{kind="${kind}"} ${from + 4}`,
    ]),
    ...views.map((series, at) => `cairn_stateview_${series} ${base + at + 1}`),
  ];
}

test('figures of components are shown as they are, at every scrape', async () => {
  const metrics = createMetrics({ runtime: false });
  let now: GuestFigures | undefined;
  showGuests({ figures: () => now }, metrics);
  const before = linesOf((await metrics.render()).body);
  expect(before.every((line) => line.endsWith(' 0'))).toBe(true);
  const gauges = Object.keys(GAUGES).filter((name) => name.startsWith('cairn_guest_'));
  expect(gauges.filter((name) => !before.some((line) => line.startsWith(name)))).toEqual([]);
  for (const base of [1000, 5000]) {
    now = figures(base);
    expect(linesOf((await metrics.render()).body).toSorted()).toEqual(expected(base).toSorted());
  }
});

test('calls are measured in seconds, by component and result', async () => {
  const metrics = createMetrics({ runtime: false });
  const onCall = callMeter(metrics);
  onCall('abc', 'answered', 1500);
  onCall('abc', 'trapped', 3);
  const { body } = await metrics.render();
  const shown = body.split('\n').filter((line) => /^cairn_component_call_duration_seconds_(?:sum|count)/.test(line));
  expect(shown).toEqual([
    'cairn_component_call_duration_seconds_sum{digest="abc",result="answered"} 1.5',
    'cairn_component_call_duration_seconds_count{digest="abc",result="answered"} 1',
    'cairn_component_call_duration_seconds_sum{digest="abc",result="trapped"} 0.003',
    'cairn_component_call_duration_seconds_count{digest="abc",result="trapped"} 1',
  ]);
});

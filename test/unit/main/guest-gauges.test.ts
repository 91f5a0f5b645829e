// Goal: what components do on a node is shown by its metrics, each pool and cache by itself, and counters rise by what
// was new since the last scrape. Method: figures that are given, two scrapes.

import { expect, test } from 'vitest';
import { createMetrics, GAUGES } from '#observability';
import { FAULT_CODES } from '#wasm';
import { showGuests } from '../../../src/main/guest-gauges.ts';
import type { GuestFigures } from '../../../src/main/guests.ts';

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

function expected(base: number): readonly string[] {
  const pools = Object.entries({ views: base, changes: base + 100, presenters: base + 200 });
  const caches = Object.entries({ artifacts: base, states: base + 100 });
  return [
    ...pools.flatMap(([name, from]) => [
      `cairn_guest_calls_total{pool="${name}"} ${from + 1}`,
      `cairn_guest_fuel_total{pool="${name}"} ${from + 2}`,
      `cairn_guest_host_calls_total{pool="${name}"} ${from + 3}`,
      `cairn_guest_processes_started_total{pool="${name}"} ${from + 4}`,
      `cairn_guest_processes_killed_total{pool="${name}"} ${from + 5}`,
      `cairn_guest_processes_recycled_total{pool="${name}"} ${from + 6}`,
      `cairn_guest_quarantined_components{pool="${name}"} ${from + 7}`,
      `cairn_guest_waiting_calls{pool="${name}"} ${from + 8}`,
      `cairn_guest_resident_bytes{pool="${name}"} ${from + 9}`,
      ...FAULT_CODES.map((code, at) => `cairn_guest_faults_total{pool="${name}",code="${code}"} ${from + at}`),
    ]),
    ...caches.flatMap(([name, from]) => [
      `cairn_guest_cache_bytes{kind="${name}"} ${from + 1}`,
      `cairn_guest_cache_damaged_total{kind="${name}"} ${from + 3}`,
      `cairn_guest_cache_refused_total{kind="${name}"} ${from + 4}`,
    ]),
    `cairn_stateview_events_folded_total{by="reads"} ${base + 1}`,
    `cairn_stateview_events_folded_total{by="maintenance"} ${base + 2}`,
    `cairn_stateview_maintenance_steps_total{result="advanced"} ${base + 3}`,
    `cairn_stateview_maintenance_steps_total{result="restarted"} ${base + 4}`,
    `cairn_stateview_maintenance_steps_total{result="failed"} ${base + 5}`,
    `cairn_stateview_maintained{mode="eager"} ${base + 6}`,
    `cairn_stateview_maintained{mode="scheduled"} ${base + 7}`,
    `cairn_stateview_maintenance_troubled ${base + 8}`,
    `cairn_stateview_lag_revisions{database="two"} ${base + 9}`,
    `cairn_stateview_lag_revisions{database="one"} ${base + 10}`,
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

// Goal: dashboards show what nodes export, and everything that nodes export is used. Method: promtool reads the
// expressions; they are held against the catalogue, and the catalogue against alerts, panels and pages.
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { COUNTERS, GAUGES, HISTOGRAMS } from '#observability';
import { OPERATOR_METRICS } from '../../operator/src/process/index.ts';
import { ALERTS, RECORDING_RULES } from '../../scripts/observability/alerts.ts';
import { dashboardFiles, scoped } from '../../scripts/observability/dashboard-file.ts';
import { DASHBOARDS } from '../../scripts/observability/dashboards.ts';
import { OPERATOR_ALERTS } from '../../scripts/observability/operator-alerts.ts';
import { lacksTool } from '../support/needed-tools.ts';
import { tempDir } from '../support/temp-dir.ts';
import { faultsOf, metricOf, seriesIn } from './expressions.ts';
import { promtool, recordingRules } from './promtool.ts';

const root = resolve(import.meta.dirname, '../..');
const GENERATED = /<!-- begin generated[\s\S]*?<!-- end generated/g;

const PANELS = DASHBOARDS.flatMap(({ title, sections }) =>
  Object.entries(sections).flatMap(([heading, panels]) =>
    panels.map((panel) => ({ ...panel, place: `${title} / ${heading} / ${panel.title}` })),
  ),
);

it('panels read metrics, labels and values that nodes export', () => {
  const faults = PANELS.flatMap(({ place, queries }) =>
    queries.flatMap(({ expr }) => faultsOf(expr).map((fault) => `${place}: ${fault}`)),
  );
  expect(faults).toEqual([]);
});

it('panels have places and legends of their own', () => {
  const places = PANELS.map(({ place }) => place);
  expect(places).toEqual([...new Set(places)]);
  for (const { place, queries } of PANELS) {
    const legends = queries.map(({ legend }) => legend);
    expect([place, legends]).toEqual([place, [...new Set(legends)]]);
  }
});

it('expressions are narrowed to what the viewer has chosen', () => {
  expect(scoped('sum by (pod) (rate(cairn_a_total{b="cairn"}[5m])) / cairn_c and ALERTS{d="e"}')).toBe(
    'sum by (pod) (rate(cairn_a_total{namespace=~"$namespace",job=~"$job",pod=~"$pod",b="cairn"}[5m])) / cairn_c{namespace=~"$namespace",job=~"$job",pod=~"$pod"} and ALERTS{namespace=~"$namespace",job=~"$job",d="e"}',
  );
});

it.skipIf(lacksTool('kube'))('Prometheus reads every expression', () => {
  using dir = tempDir();
  const written = dashboardFiles().flatMap(({ content }) => [...content.matchAll(/"expr":("(?:[^"\\]|\\.)*")/g)]);
  const exprs = written.map(([, text = '']) => String(JSON.parse(text)).replaceAll('$__rate_interval', '5m'));
  expect(exprs.length).toBe(PANELS.flatMap(({ queries }) => queries).length);
  expect(promtool('check', 'rules', recordingRules(dir.path, exprs))).toMatchObject({ status: 0 });
});

it('every metric is in a dashboard, in an alert, or in a page that is not generated', () => {
  const rules = [...ALERTS, ...OPERATOR_ALERTS, ...RECORDING_RULES];
  const exprs = [...PANELS.flatMap(({ queries }) => queries), ...rules].map(({ expr }) => expr);
  const pages = globSync('docs/**/*.md', { cwd: root }).filter((page) => page !== 'docs/metrics.md');
  const written = pages.map((page) => readFileSync(join(root, page), 'utf8').replaceAll(GENERATED, ''));
  const used = new Set([...exprs, ...written].flatMap(seriesIn).map(metricOf));
  const names = Object.keys({ ...COUNTERS, ...GAUGES, ...HISTOGRAMS, ...OPERATOR_METRICS });
  expect(names.filter((name) => !used.has(name))).toEqual([]);
});

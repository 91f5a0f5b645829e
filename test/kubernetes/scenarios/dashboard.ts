/**
 * Prints the panels of a dashboard with the values that a real Prometheus has of a cluster under writes and reads, as
 * Grafana would label and format them. A person sees whether each panel has data and a sensible unit.
 *
 *   npm run kube -- node --conditions=source test/kubernetes/scenarios/dashboard.ts [overview]
 */
import { setTimeout as delay } from 'node:timers/promises';
import { scoped } from '../../../scripts/observability/dashboard-file.ts';
import { DASHBOARDS, type Panel, type Query } from '../../../scripts/observability/dashboards.ts';
import { Cluster } from '../cluster.ts';
import { Clients } from './clients.ts';
import { firstKey, installCairn, PODS, SERVICE_HOST } from './install.ts';
import { query, startPrometheus } from './prometheus.ts';

const EVENTS = `http://${SERVICE_HOST}:3000/databases/orders/events`;
const WINDOW = '15s';
/** Rates, and the rules that are made of rates, are complete after this. */
const RUN_MS = 30_000;
const PAUSE_MS = 100;
const WIDTHS = [12, 30, 52] as const;
const BINARY = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;
const NAMES = DASHBOARDS.map(({ name }) => name);

const [chosen = 'overview'] = process.argv.slice(2);
const dashboard = DASHBOARDS.find(({ name }) => name === chosen);
if (dashboard === undefined) throw new Error(`there is no dashboard ${chosen}: ${NAMES.join(', ')}`);
const cluster = new Cluster();
await installCairn(cluster);
await cluster.untilReady(PODS);
await startPrometheus(cluster);
const clients = new Clients(cluster, { seed: 7, isSecure: false, replicas: PODS.length });
await clients.start();
const key = await firstKey(cluster);
for (const untilMs = performance.now() + RUN_MS; performance.now() < untilMs; await delay(PAUSE_MS)) await read();
for (const [heading, panels] of Object.entries(dashboard.sections))
  for (const panel of panels) for (const each of panel.queries) await show(heading, panel, each);
process.exit(0);

async function read(): Promise<void> {
  const response = await fetch(EVENTS, { headers: { 'x-api-key': key } });
  if (!response.ok) throw new Error(`a read was answered with ${response.status}: ${await response.text()}`);
  await response.arrayBuffer();
}

async function show(heading: string, { title, unit }: Panel, { expr, legend }: Query): Promise<void> {
  const asked = scoped(expr)
    .replaceAll('$__rate_interval', WINDOW)
    .replaceAll(/\$(?:namespace|job|pod)/g, '.*');
  const series = await query(asked);
  const rows = series.map(({ metric, value: [, text] }): readonly [string, string] => [
    legend.replaceAll(/\{\{(\w+)\}\}/g, (_, label: string) => metric[label] ?? ''),
    formatted(Number(text), unit),
  ]);
  for (const [line, value] of rows.length === 0 ? [[legend, 'no data'] as const] : rows) {
    const cells = [heading, title, line].map((cell, at) => cell.padEnd(WIDTHS[at] ?? 0));
    process.stdout.write(`${cells.join(' ')} ${value}\n`);
  }
}

/** A value as Grafana shows it with a unit. */
function formatted(value: number, unit: Panel['unit']): string {
  const rounded = (scaled: number, suffix = ''): string => `${Number(scaled.toPrecision(3))}${suffix}`;
  if (unit === 'percentunit') return rounded(value * 100, ' %');
  if (unit === 'ops') return rounded(value, ' ops/s');
  if (unit === 's') return value < 1 ? rounded(value * 1000, ' ms') : rounded(value, ' s');
  if (unit === 'dateTimeFromNow') return new Date(value).toISOString();
  if (unit === 'none' || unit === 'short') return rounded(value);
  const power = Math.min(BINARY.length - 1, Math.max(0, Math.floor(Math.log2(Math.abs(value) || 1) / 10)));
  return rounded(value / 1024 ** power, ` ${BINARY[power]}${unit === 'bytes' ? '' : '/s'}`);
}

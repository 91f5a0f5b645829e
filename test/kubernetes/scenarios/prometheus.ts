/**
 * Runs a Prometheus in the cluster. It finds the pods by the API server, as by the ServiceMonitor of the chart, and has
 * the rules of the chart. All durations in them are divided by `FASTER`, so that minutes become seconds.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';
import { RULES_PATH } from '../../../scripts/observability/rules-file.ts';
import { type Cluster, eventually } from '../cluster.ts';

export interface Alert {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly state: 'pending' | 'firing';
}

export interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [seconds: number, text: string];
}

interface Rule {
  readonly expr: string;
  readonly for?: string;
}

interface RuleFile {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[];
}

const ROOT = resolve(import.meta.dirname, '../../..');
const ADDRESS = '127.0.0.1:9090';
const FASTER = 60;
/** A rate needs a few samples. */
const WINDOW_MS_MIN = 5000;
const UNITS_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const SECOND = '1s';

/** Starts Prometheus, which ends with the cluster. */
export async function startPrometheus(cluster: Cluster): Promise<void> {
  const dir = join(cluster.dir, 'prometheus');
  mkdirSync(dir);
  const rules: RuleFile = parse(readFileSync(join(ROOT, RULES_PATH), 'utf8'));
  // JSON is valid YAML.
  writeFileSync(join(dir, 'rules.yaml'), JSON.stringify({ groups: rules.groups.map(sooner) }));
  writeFileSync(join(dir, 'prometheus.yaml'), JSON.stringify(configuration()));
  const log = openSync(join(dir, 'log'), 'w');
  const flags = ['--config.file=prometheus.yaml', '--storage.tsdb.path=data', `--web.listen-address=${ADDRESS}`];
  spawn('prometheus', flags, { cwd: dir, stdio: ['ignore', log, log] });
  await eventually('Prometheus to answer', async () => (await fetch(`http://${ADDRESS}/-/ready`)).ok);
}

/** Alerts that are pending or firing. */
export async function activeAlerts(): Promise<readonly Alert[]> {
  const { alerts } = await ask<{ readonly alerts: readonly Alert[] }>('alerts');
  return alerts;
}

/** Names of the pods whose metrics Prometheus reads. */
export async function scrapedPods(): Promise<readonly string[]> {
  return (await query('cairn_build_info')).flatMap(({ metric }) => metric['pod'] ?? []);
}

/** The series of an expression, each with its latest value. */
export async function query(expr: string): Promise<readonly Series[]> {
  const { result } = await ask<{ readonly result: readonly Series[] }>(`query?query=${encodeURIComponent(expr)}`);
  return result;
}

async function ask<Data>(path: string): Promise<Data> {
  const response = await fetch(`http://${ADDRESS}/api/v1/${path}`);
  const answer = (await response.json()) as { readonly data: Data; readonly error?: string };
  if (!response.ok) throw new Error(`Prometheus answers ${path} with ${response.status}: ${answer.error}`);
  return answer.data;
}

function sooner({ name, rules }: RuleFile['groups'][number]): RuleFile['groups'][number] {
  const shorten = ({ expr, for: pending, ...rest }: Rule): Rule => ({
    ...rest,
    expr: expr.replaceAll(/\[(\d+[smhd])\]/g, (_, window: string) => `[${shortened(window, WINDOW_MS_MIN)}]`),
    ...(pending === undefined ? {} : { for: shortened(pending, 0) }),
  });
  return { name, rules: rules.map(shorten) };
}

function shortened(duration: string, msMin: number): string {
  const unitMs = UNITS_MS[duration.slice(-1)];
  if (unitMs === undefined) throw new Error(`${duration} is no duration`);
  return `${Math.max(msMin, Math.round((Number.parseInt(duration, 10) * unitMs) / FASTER))}ms`;
}

function configuration(): object {
  const meta = '__meta_kubernetes';
  const copied = { namespace: `${meta}_namespace`, job: `${meta}_service_name`, pod: `${meta}_pod_name` };
  return {
    global: { scrape_interval: SECOND, scrape_timeout: SECOND, evaluation_interval: SECOND },
    rule_files: ['rules.yaml'],
    scrape_configs: [
      {
        job_name: 'pods',
        kubernetes_sd_configs: [{ role: 'endpointslice', kubeconfig_file: process.env['KUBECONFIG'] }],
        relabel_configs: [
          {
            action: 'keep',
            source_labels: [`${meta}_service_label_app_kubernetes_io_name`, `${meta}_endpointslice_port_name`],
            regex: 'cairn;metrics',
          },
          ...Object.entries(copied).map(([label, source]) => ({ source_labels: [source], target_label: label })),
        ],
      },
    ],
  };
}

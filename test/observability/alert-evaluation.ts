// promtool evaluates alerts over the series of alert-cases.ts.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ALERT_CASES } from './alert-cases.ts';
import { promtool, type Ran } from './promtool.ts';

/** An alert of a file of rules, and the name of its cases; of those with several severities, one. */
export interface Evaluated {
  readonly alertname: string;
  readonly cases: string;
  readonly severity?: string;
}

interface Case {
  /** Which one it is, and the cluster that its series are of. */
  readonly cluster: string;
  readonly minutes: number;
  readonly series: readonly string[];
  readonly fires: readonly string[];
}

const SHORT_MINUTES = 45;

/** Output of promtool, run in `directory`; a failure names the alert. */
export function evaluate(directory: string, rulesPaths: readonly string[], alerts: readonly Evaluated[]): Ran {
  // Evaluations take the time. Cases of hours need fewer of them.
  const files = [
    testFile(join(directory, 'short.yaml'), { rulesPaths, alerts, interval: '1m', isShort: true }),
    testFile(join(directory, 'long.yaml'), { rulesPaths, alerts, interval: '5m', isShort: false }),
  ];
  return promtool('test', 'rules', ...files);
}

interface TestFile {
  readonly rulesPaths: readonly string[];
  readonly alerts: readonly Evaluated[];
  readonly interval: string;
  readonly isShort: boolean;
}

/** Cases as one test of promtool; each has its own cluster. JSON is YAML. */
function testFile(path: string, { rulesPaths, alerts, interval, isShort }: TestFile): string {
  const chosen = (name: string): readonly Case[] =>
    casesOf(name).filter(({ minutes }) => minutes <= SHORT_MINUTES === isShort);
  const cases = [...new Set(alerts.map((alert) => alert.cases))].flatMap(chosen);
  const test = {
    interval: '1m',
    input_series: cases.flatMap(({ cluster, series }) => series.map((text) => inputSeries(cluster, text))),
    promql_expr_test: alerts.flatMap((alert) => chosen(alert.cases).map((each) => question(alert, each))),
  };
  const rules = { rule_files: rulesPaths, evaluation_interval: interval };
  // promtool evaluates groups in random order by default; an alert then misses rules that are recorded after it.
  const order = { group_eval_order: ['cairn-service-levels', 'cairn-alerts', 'cairn-operator-alerts'] };
  writeFileSync(path, JSON.stringify({ ...rules, ...order, tests: [test] }));
  return path;
}

function casesOf(name: string): readonly Case[] {
  return (ALERT_CASES[name] ?? []).map(([at, series, fires], number) => ({
    cluster: `${name}-${number + 1}`,
    minutes: Number.parseInt(at, 10),
    series: series.flatMap((text) => text.split('; ')),
    fires,
  }));
}

function question({ alertname, severity }: Evaluated, { cluster, minutes, fires }: Case): object {
  const common = `ALERTS{alertname="${alertname}",alertstate="firing",namespace="${cluster}",job="cairn"`;
  const wanted = fires.filter((labels) => severity === undefined || labels.includes(`severity="${severity}"`));
  const samples = wanted.map((labels) => ({ labels: `${common},${labels}}`, value: 1 }));
  return { expr: `${common}}`, eval_time: `${minutes}m`, exp_samples: samples };
}

function inputSeries(cluster: string, text: string): object {
  const [, metric, labels = '', values] = /^([^{ ]+)(?:\{(.*)\})? (.*)$/.exec(text) ?? [];
  const pod = labels.includes('pod=') ? '' : 'pod="a",';
  return { series: `${metric}{${pod}namespace="${cluster}",job="cairn",${labels}}`, values };
}

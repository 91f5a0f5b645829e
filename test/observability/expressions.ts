// What is wrong with an expression of PromQL beside its syntax, which promtool parses: metrics, labels and values that
// no node exports.
import { COUNTERS, createMetrics, describeMetric, GAUGES, HISTOGRAMS, type LabelBound } from '#observability';
import { OPERATOR_METRICS } from '../../operator/src/process/index.ts';
import { RECORDING_RULES } from '../../scripts/observability/alerts.ts';

type Labels = Readonly<Record<string, LabelBound>>;

/** Labels that Prometheus adds to what it scrapes. */
const OF_TARGET: readonly string[] = ['namespace', 'job', 'pod', 'instance'];
/** Bound of a label of the operator. */
const MANY = 100;
/** Of metrics of the Node.js runtime. */
const OF_RUNTIME: Labels = { kind: 20, space: 20 };
const METRIC = /\b(ALERTS|(?:cairn[_:]|grpc_server_|http_server_|nodejs_|process_)[a-z0-9_:]*)(?:\{([^}]*)\})?/g;
const MATCHER = /(\w+)(?:=~|!~|!=|=)"([^"]*)"/g;
const GROUPING = /\b(?:by|without|on|ignoring) \(([^)]*)\)/g;

/** Every series that expressions may name, with the labels that it has. */
const SERIES = new Map<string, Labels>([
  ...Object.entries({ ...COUNTERS, ...GAUGES }).map(([name, each]) => [name, describeMetric(each).labels] as const),
  ...Object.entries(HISTOGRAMS).flatMap(([name, each]) => seriesOfHistogram(name, describeMetric(each).labels)),
  ...(await seriesOfRuntime()),
  ...Object.entries(OPERATOR_METRICS).map(([name, { labelNames }]) => {
    return [name, Object.fromEntries(labelNames.map((label) => [label, MANY]))] as const;
  }),
  ...RECORDING_RULES.map(({ record }) => [record, {}] as const),
  ['ALERTS', { alertname: 100, alertstate: ['pending', 'firing'], severity: 3 }],
]);

function seriesOfHistogram(name: string, labels: Labels): readonly (readonly [string, Labels])[] {
  return [
    [`${name}_sum`, labels],
    [`${name}_count`, labels],
    [`${name}_bucket`, { ...labels, le: 100 }],
  ];
}

async function seriesOfRuntime(): Promise<readonly (readonly [string, Labels])[]> {
  const { body } = await createMetrics({ runtime: true }).render();
  const types = [...body.matchAll(/^# TYPE ((?:nodejs|process)_\w+) (\w+)$/gm)];
  return types.flatMap(([, name = '', type]) =>
    type === 'histogram' ? seriesOfHistogram(name, OF_RUNTIME) : [[name, OF_RUNTIME] as const],
  );
}

/** The series that a text names, in an expression or in prose. */
export function seriesIn(text: string): readonly string[] {
  return [...text.matchAll(METRIC)].flatMap(([, name = '']) => name);
}

/** The metric of the catalogue that a series belongs to. */
export function metricOf(series: string): string {
  const base = series.replace(/_(?:bucket|sum|count)$/, '');
  return base in HISTOGRAMS ? base : series;
}

/** Whether prose may name it: a series, or a histogram as a whole. */
export function isExported(name: string): boolean {
  return SERIES.has(name) || name in HISTOGRAMS;
}

export function faultsOf(expr: string): readonly string[] {
  const named = [...expr.matchAll(METRIC)];
  const grouped = [...expr.matchAll(GROUPING)].flatMap(([, labels = '']) => labels.split(', '));
  const known = new Set([...OF_TARGET, ...seriesIn(expr).flatMap((name) => Object.keys(SERIES.get(name) ?? {}))]);
  return [
    ...(named.length === 0 ? ['it names no metric'] : []),
    ...named.flatMap(([, name = '', matchers = '']) => seriesFaults(name, matchers)),
    ...grouped.filter((label) => !known.has(label)).map((label) => `none of its metrics has a label ${label}`),
  ];
}

function seriesFaults(name: string, matchers: string): readonly string[] {
  const labels = SERIES.get(name);
  if (labels === undefined) return [`there is no metric ${name}`];
  return [...matchers.matchAll(MATCHER)].flatMap(([, label = '', value = '']) => {
    const bound = labels[label];
    if (bound === undefined) return OF_TARGET.includes(label) ? [] : [`${name} has no label ${label}`];
    if (typeof bound === 'number') return [];
    const unknown = value.split('|').filter((each) => !bound.includes(each));
    return unknown.map((each) => `${name} has no ${label}="${each}"`);
  });
}

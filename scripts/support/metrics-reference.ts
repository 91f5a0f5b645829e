/** docs/metrics.md, from the metric catalogue. */
import { COUNTERS, describeMetric, GAUGES, HISTOGRAMS, type LabelBound, type MetricDefinition } from '#observability';
import { OPERATOR_METRICS } from '../../operator/src/process/index.ts';

export function renderMetricsReference(): string {
  return `# Metrics

A node serves its metrics to Prometheus at \`/metrics\` on its metrics port. It also exports metrics of the Node.js runtime
and of the process (\`nodejs_*\`, \`process_*\`). Durations are in seconds, sizes in bytes. The port also answers
[probes](operations/probes.md).

Counters and histograms start at 0, so that \`rate\` sees the first increase. This holds for all series whose labels have a
fixed set of values, and for series that are known at startup:

- each gRPC method with OK and with the codes that the node is responsible for (UNAVAILABLE, DEADLINE_EXCEEDED,
  RESOURCE_EXHAUSTED, INTERNAL);
- each HTTP route except probes with its success code, and with 500 and 503 after its first use.

A gauge without labels is 0 until it is set. A gauge of peers or databases has no series while there are none.

A label with a bound has at most that many values. Counters and histograms add further values up as \`other\`; gauges omit
them, because a sum of levels means nothing. A gauge with the label \`database\` has the first databases by name. The series
of a deleted database disappears at the next scrape or measurement. A node that was removed from the cluster has no series;
its late messages count as \`unknown\`.

A scrape is at most a second old: scrapes within a second get the same answer. A fresh node returns about 3,000 lines
(310 KB), and more after routes have failed. A line takes about 3 µs of the thread that serves clients, independent of the
number of databases (\`bench/scrape.ts\`). The node closes a connection after one answer, and after 10 s in any case. The
33rd connection at a time closes the oldest.

## Counters

${table(COUNTERS)}

## Gauges

${table(GAUGES)}

## Histograms

${table(HISTOGRAMS)}

## What is not measured

- LevelDB reports only totals of its compactions since it was opened, in whole seconds and MiB. It does not report running or
  pending compactions, nor how long it has stalled writers; \`cairn_store_tables{level="0"}\` is the best indication.
- The store as a whole has no quota: \`database-bytes-max\` limits single databases. \`cairn_disk_threshold_bytes\` is the disk
  space that must stay free.
- A node that lags too far for the log receives a snapshot as records of the history and installs them as they arrive. There
  are no snapshot files; the metrics with \`way="received"\` include the installation.
- A node that finds damaged rows exits at once, so no scrape shows the damage. Watch for exit code 70, and for
  \`cairn_corruption_alarm\` after the next start, while the node rebuilds the rows of the database.
- Raft gauges are totals over all groups of the node, because a node may have thousands. For a single database see
  \`cairn_database_revision\` and \`cairn cluster status\`.

This page is generated from \`src/observability/metric-catalogue.ts\` by \`npm run docs\`.
`;
}

function table(metrics: Readonly<Record<string, MetricDefinition>>): string {
  const rows = Object.entries(metrics).map(([name, definition]) => {
    const { help, labels } = describeMetric(definition);
    const described = Object.entries(labels).map(([label, bound]) => describe(label, bound));
    return `| \`${name}\` | ${described.join('<br>')} | ${help} |`;
  });
  return `| metric | labels | meaning |\n|---|---|---|\n${rows.join('\n')}`;
}

function describe(label: string, bound: LabelBound): string {
  return typeof bound === 'number' ? `${label} (at most ${bound})` : `${label}: ${bound.join(', ')}`;
}

/** The metrics of the operator, for docs/operations/operator.md. */
export function operatorMetricsTable(): string {
  const rows = Object.entries(OPERATOR_METRICS).map(([name, { help, labelNames }]) => {
    return `| \`${name}\` | ${labelNames.map((label) => `\`${label}\``).join(', ')} | ${help} |`;
  });
  return `| metric | labels | meaning |\n|---|---|---|\n${rows.join('\n')}`;
}

/** docs/metrics.md, from the metric catalogue. */
import { COUNTERS, GAUGES, HISTOGRAMS, type LabelBound } from '#observability';
import { OPERATOR_METRICS } from '../../operator/src/process/index.ts';

export function renderMetricsReference(): string {
  return `# Metrics

A node answers Prometheus at \`/metrics\` on its metrics port. Beside the metrics below it exports those of the Node.js
runtime and of the process (\`nodejs_*\`, \`process_*\`). Durations are in seconds, sizes in bytes. The port answers
[probes](operations/probes.md) as well.

Counters and histograms show 0 before anything has happened, so that \`rate\` sees the first increase: all series whose
labels have closed values, and of the others those that are known beforehand. These are each gRPC method with OK and the
codes that the node is responsible for (UNAVAILABLE, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, INTERNAL), and each HTTP route
except probes with its success, and with 500 and 503 once it was used. A gauge without labels is 0 until it is set. A gauge
of peers or databases has no series while there are none.

A label with a bound names so many values. A counter or a histogram adds up the rest as \`other\`; a gauge leaves the rest
out, because a level of several things means nothing. A gauge with the label \`database\` has the first databases by name;
one that is deleted is gone at the next scrape or measurement. A node that was removed from the cluster has no series; what
it may still send counts as \`unknown\`.

A scrape is at most a second old: all who ask within a second get the same answer. A fresh node answers some 3,000 lines
(310 KB), and more when routes have failed. A line takes about 3 µs of the thread that serves clients, however many databases
there are (\`bench/scrape.ts\`). A connection is closed after one answer, and after 10 s in any case; one more than 32 at a
time closes the oldest.

## Counters

${table(COUNTERS)}

## Gauges

${table(GAUGES)}

## Histograms

${table(HISTOGRAMS)}

## What is not measured

- LevelDB tells of its compactions what it has added up since it was opened, in whole seconds and MiB. Whether one runs now,
  how many wait, and for how long it has held writers back, it does not tell: \`cairn_store_tables{level="0"}\` comes nearest.
- The store as a whole has no quota: those of \`database-bytes-max\` are for a database each. What must stay free on the disk is
  \`cairn_disk_threshold_bytes\`.
- A node that lacks more than a log holds gets pages, which it installs as they come: there are no files of snapshots, and
  the time and failures of installing are those of \`way="received"\`.
- A node that comes across damage ends at once, so no scrape shows the damage itself: watch its exit code 70, and
  \`cairn_corruption_alarm\` while it verifies its store at the next start, which it does before it serves.
- Levels of Raft are of all groups of the node together, for a node may have thousands. What is one database's is in
  \`cairn_database_revision\`, and in \`cairn cluster status\`.

This page is generated from \`src/observability/metric-catalogue.ts\` by \`npm run docs\`.
`;
}

interface Documented {
  readonly help: string;
  readonly labels: object;
}

function table(metrics: Readonly<Record<string, Documented>>): string {
  const rows = Object.entries(metrics).map(([name, { help, labels }]) => {
    const described = Object.entries<LabelBound>({ ...labels }).map(([label, bound]) => describe(label, bound));
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

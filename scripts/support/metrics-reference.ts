/** docs/metrics.md, from the metric catalogue. */
import { COUNTERS, GAUGES, HISTOGRAMS, type LabelBound } from '#observability';

export function renderMetricsReference(): string {
  return `# Metrics

A node answers Prometheus at \`/metrics\` on its metrics port. Beside the metrics below it exports those of the Node.js
runtime and of the process (\`nodejs_*\`, \`process_*\`). Durations are in seconds, sizes in bytes. A counter has a series
from the first time that what it counts happens.

A label with a bound names so many values. A counter or a histogram adds up the rest as \`other\`; a gauge leaves the rest
out, because a level of several things means nothing. Only \`cairn_database_revision\` names databases: of those that exist
the first by name, as many as its label may name. One that is deleted is gone at the next scrape, and another one has its
place. A node that was removed from the cluster has no series any more; what it may still send counts as \`unknown\`.

What is scraped is at most a second old: all who ask within a second get the same answer. A connection is closed after
one answer, and after 10 s in any case; one more than 32 at a time is closed as it comes.

## Counters

${table(COUNTERS)}

## Gauges

${table(GAUGES)}

## Histograms

${table(HISTOGRAMS)}

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

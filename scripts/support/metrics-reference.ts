/** docs/metrics.md, from the metric catalogue. */
import { COUNTERS, GAUGES, HISTOGRAMS, type LabelBound } from '#observability';

export function renderMetricsReference(): string {
  return `# Metrics

A node answers Prometheus at \`/metrics\` on its metrics port. Beside the metrics below it exports those of the Node.js
runtime and of the process (\`nodejs_*\`, \`process_*\`). Durations are in seconds, sizes in bytes. A label with a bound
counts every value beyond it as \`other\`.

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

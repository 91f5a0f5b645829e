/**
 * The port by which layers count, and its adapter on prom-client.
 *
 * A layer asks once for the child of a metric with its labels and keeps it: label handling costs there, and an
 * increment is then an addition. Values that are cheaper to read than to keep (sizes, depths) are set in a callback
 * just before a scrape.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { LabelLimiter } from './label-limiter.ts';
import { COUNTERS, GAUGES, HISTOGRAMS } from './metric-catalogue.ts';
import type {
  CounterLabels,
  CounterName,
  GaugeLabels,
  GaugeName,
  HistogramLabels,
  HistogramName,
} from './metric-names.ts';

export interface Count {
  /** Adds `by`, 1 unless given; never negative. */
  add(by?: number): void;
}

export interface Level {
  set(value: number): void;
  /** Moves the level by `by`, which may be negative. */
  move(by: number): void;
}

export interface Observe {
  observe(value: number): void;
}

export interface Metrics {
  counter<N extends CounterName>(name: N, labels: CounterLabels[N]): Count;
  gauge<N extends GaugeName>(name: N, labels: GaugeLabels[N]): Level;
  histogram<N extends HistogramName>(name: N, labels: HistogramLabels[N]): Observe;
  /** Called before every scrape; a failure fails the scrape, so that it is seen. */
  beforeScrape(collect: () => void | Promise<void>): void;
  /** The text that Prometheus reads. */
  render(): Promise<{ readonly contentType: string; readonly body: string }>;
}

/** The metrics of one node. `runtime` adds the process and event-loop metrics of prom-client. */
export function createMetrics(options: { readonly runtime: boolean }): Metrics {
  const registry = new Registry();
  if (options.runtime) collectDefaultMetrics({ register: registry });
  const collectors: (() => void | Promise<void>)[] = [];
  const limiter = new LabelLimiter();
  const counters = registerAll({ ...COUNTERS }, (shape) => new Counter({ ...shape, registers: [registry] }));
  const gauges = registerAll({ ...GAUGES }, (shape) => new Gauge({ ...shape, registers: [registry] }));
  const histograms = registerAll({ ...HISTOGRAMS }, (shape) => new Histogram({ ...shape, registers: [registry] }));
  return {
    counter: (name, labels) => {
      const child = counters(name).labels(limiter.within(name, labels));
      return { add: (by = 1) => child.inc(by) };
    },
    gauge: (name, labels) => {
      const child = gauges(name).labels(limiter.within(name, labels));
      return { set: (value) => child.set(value), move: (by) => child.inc(by) };
    },
    histogram: (name, labels) => {
      const child = histograms(name).labels(limiter.within(name, labels));
      return { observe: (value) => child.observe(value) };
    },
    beforeScrape: (collect) => {
      collectors.push(collect);
    },
    render: async () => {
      for (const collect of collectors) await collect();
      return { contentType: registry.contentType, body: await registry.metrics() };
    },
  };
}

interface MetricShape {
  readonly name: string;
  readonly help: string;
  readonly labelNames: string[];
  readonly buckets: number[];
}

interface Shaped {
  readonly help: string;
  readonly labels: object;
  readonly buckets?: readonly number[];
}

/** Registers every metric of the table and finds them by name. */
function registerAll<M>(
  table: Readonly<Record<string, Shaped>>,
  create: (shape: MetricShape) => M,
): (name: string) => M {
  const registered = new Map<string, M>();
  for (const [name, { help, labels, buckets }] of Object.entries(table)) {
    registered.set(name, create({ name, help, labelNames: Object.keys(labels), buckets: [...(buckets ?? [])] }));
  }
  return (name) => {
    const metric = registered.get(name);
    if (metric === undefined) throw new TypeError(`there is no metric ${name} in the catalogue`);
    return metric;
  };
}

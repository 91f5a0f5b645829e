/**
 * The port through which layers count, and its adapter on prom-client.
 *
 * A layer gets the child of a metric for its labels once and keeps it: label handling is paid there, and an increment
 * is then an addition (pending-values.ts). Values that are cheaper to read than to maintain (sizes, depths) are set in
 * a callback before each scrape.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { LabelLimiter } from './label-limiter.ts';
import { BUCKETS, COUNTERS, GAUGES, HISTOGRAMS } from './metric-catalogue.ts';
import {
  type CounterLabels,
  type CounterName,
  describe,
  type GaugeLabels,
  type GaugeName,
  type HistogramLabels,
  type HistogramName,
  type MetricDefinition,
} from './metric-names.ts';
import { PendingCount, PendingLevel, PendingObservations } from './pending-values.ts';

export interface Count {
  /** Adds `by`, by default 1; never negative. */
  add(by?: number): void;
  /** Counts up to a total that is kept elsewhere; a lower one counts nothing. */
  raiseTo(total: number): void;
}

export interface Level {
  set(value: number): void;
  /** Moves the level by `by`, which may be negative. */
  move(by: number): void;
}

export interface Series<N extends GaugeName> {
  readonly labels: GaugeLabels[N];
  readonly value: number;
}

export interface Observe {
  observe(value: number): void;
}

export interface Metrics {
  /**
   * The series is shown from now on, as 0 until it is counted. Metrics with closed labels only are shown from the
   * start.
   */
  counter<N extends CounterName>(name: N, labels: CounterLabels[N]): Count;
  /** The gauge for these labels, as long as the node runs. Beyond the bound of a label it is not shown. */
  gauge<N extends GaugeName>(name: N, labels: GaugeLabels[N]): Level;
  /**
   * Replaces all series of a gauge whose label values come and go. Series beyond the bound of a label are omitted and
   * not computed. Must not be mixed with `gauge` for the same metric.
   */
  setSeries<N extends GaugeName>(name: N, series: Iterable<Series<N>>): void;
  /** The series is shown from now on, as with `counter`. */
  histogram<N extends HistogramName>(name: N, labels: HistogramLabels[N]): Observe;
  /**
   * Removes all series of a removed node and frees its slot under the bound. Children that were kept must not be used
   * any more.
   */
  forgetPeer(peer: string): void;
  /** Registers a callback before every scrape; if it fails, the scrape fails, so that the fault is visible. */
  beforeScrape(collect: () => void | Promise<void>): void;
  /** Renders the text format of Prometheus. */
  render(): Promise<{ readonly contentType: string; readonly body: string }>;
}

/** The metrics of one node. `runtime` adds the process and event-loop metrics of prom-client. */
export function createMetrics(options: { readonly runtime: boolean }): Metrics {
  const registry = new Registry();
  if (options.runtime) collectDefaultMetrics({ register: registry });
  const collectors: (() => void | Promise<void>)[] = [];
  const limiter = new LabelLimiter();
  const counters = registerAll(COUNTERS, (shape) => new Counter({ ...shape, registers: [registry] }));
  const gauges = registerAll(GAUGES, (shape) => new Gauge({ ...shape, registers: [registry] }));
  const histograms = registerAll<HistogramName, Histogram>(
    HISTOGRAMS,
    (shape, name) => new Histogram({ ...shape, buckets: [...BUCKETS[name]], registers: [registry] }),
  );
  const countOf = keptByLabels((name: CounterName, labels: Labels) => {
    const child = counters(name).labels(labels);
    return new PendingCount((sum) => child.inc(sum));
  });
  const levelOf = keptByLabels((name: GaugeName, labels: Labels) => {
    const child = gauges(name).labels(labels);
    return new PendingLevel((value) => child.set(value));
  });
  const observationsOf = keptByLabels((name: HistogramName, labels: Labels) => {
    const child = histograms(name).labels(labels);
    histograms(name).zero(labels);
    return new PendingObservations((value) => child.observe(value));
  });
  for (const { name, labels } of closedSeries(COUNTERS)) countOf.child(name, labels);
  for (const { name, labels } of closedSeries(HISTOGRAMS)) observationsOf.child(name, labels);
  return {
    counter: (name, labels) => countOf.child(name, limiter.within(name, labels)),
    gauge: (name, labels) => (limiter.admits(name, labels) ? levelOf.child(name, labels) : UNSHOWN),
    setSeries: (name, series) => {
      const places = new LabelLimiter();
      const gauge = gauges(name);
      gauge.reset();
      for (const { labels, value } of series) {
        if (!places.admits(name, labels)) break;
        gauge.set(labels, value);
      }
    },
    histogram: (name, labels) => observationsOf.child(name, limiter.within(name, labels)),
    forgetPeer: (peer) => {
      limiter.forget(PEER, peer);
      const isOfPeer = (labels: Labels): boolean => labels[PEER] === peer;
      for (const { name, labels } of countOf.forget(isOfPeer)) counters(name).remove(labels);
      for (const { name, labels } of levelOf.forget(isOfPeer)) gauges(name).remove(labels);
      for (const { name, labels } of observationsOf.forget(isOfPeer)) histograms(name).remove(labels);
    },
    beforeScrape: (collect) => {
      collectors.push(collect);
    },
    render: async () => {
      for (const collect of collectors) await collect();
      for (const { all } of [countOf, levelOf, observationsOf]) for (const { child } of all()) child.handOver();
      return { contentType: registry.contentType, body: await registry.metrics() };
    },
  };
}

type Labels = Record<string, string>;

interface ClosedSeries<Name> {
  readonly name: Name;
  readonly labels: Labels;
}

/** Every series of the metrics with closed labels only: it starts at 0 instead of being absent (O1). */
function closedSeries<Name extends string>(
  table: Readonly<Record<Name, MetricDefinition>>,
): readonly ClosedSeries<Name>[] {
  const all: ClosedSeries<Name>[] = [];
  for (const name in table) {
    const bounds = Object.entries(describe(table[name]).labels);
    const sets = bounds.reduce<readonly Labels[]>(
      (known, [label, bound]) =>
        typeof bound === 'number'
          ? []
          : known.flatMap((labels) => bound.map((value) => ({ ...labels, [label]: value }))),
      [{}],
    );
    all.push(...sets.map((labels) => ({ name, labels })));
  }
  return all;
}

/** Label with the number of another node. */
const PEER = 'peer';

const UNSHOWN: Level = { set: () => undefined, move: () => undefined };

interface Kept<Name, Child> {
  readonly name: Name;
  readonly labels: Labels;
  readonly child: Child;
}

interface KeptByLabels<Name, Child> {
  readonly child: (name: Name, labels: Labels) => Child;
  readonly all: () => Iterable<Kept<Name, Child>>;
  /** Removes and returns the children with matching labels. */
  readonly forget: (isGone: (labels: Labels) => boolean) => readonly Kept<Name, Child>[];
}

/** Keeps children by metric and labels, so that the same labels return the same child. */
function keptByLabels<Name extends string, Child>(
  make: (name: Name, labels: Labels) => Child,
): KeptByLabels<Name, Child> {
  const kept = new Map<string, Kept<Name, Child>>();
  const child = (name: Name, labels: Labels): Child => {
    const pairs = Object.entries(labels).map((pair) => JSON.stringify(pair));
    const key = `${name} ${pairs.toSorted().join()}`;
    const known = kept.get(key);
    if (known !== undefined) return known.child;
    const made = make(name, labels);
    kept.set(key, { name, labels, child: made });
    return made;
  };
  const forget = (isGone: (labels: Labels) => boolean): readonly Kept<Name, Child>[] => {
    const gone = [...kept].filter(([, { labels }]) => isGone(labels));
    for (const [key] of gone) kept.delete(key);
    return gone.map(([, each]) => each);
  };
  return { child, all: () => kept.values(), forget };
}

interface MetricShape {
  readonly name: string;
  readonly help: string;
  readonly labelNames: string[];
}

/** Registers every metric of the table and finds them by name. */
function registerAll<Name extends string, M>(
  table: Readonly<Record<Name, MetricDefinition>>,
  create: (shape: MetricShape, name: Name) => M,
): (name: Name) => M {
  const registered = new Map<Name, M>();
  for (const name in table) {
    const { help, labels } = describe(table[name]);
    registered.set(name, create({ name, help, labelNames: Object.keys(labels) }, name));
  }
  return (name) => {
    const metric = registered.get(name);
    if (metric === undefined) throw new TypeError(`there is no metric ${name} in the catalogue`);
    return metric;
  };
}

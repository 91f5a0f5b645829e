/**
 * The names of all metrics and the values of their labels as types, so that the compiler checks every use. They follow
 * from metric-catalogue.ts.
 */
import { COUNTERS, GAUGES, HISTOGRAMS } from './metric-catalogue.ts';

/** The values of a closed label, or the maximum number of values of an open one; further values count as `other`. */
export type LabelBound = readonly string[] | number;

interface Labelled {
  readonly help: string;
  readonly labels: Readonly<Record<string, LabelBound>>;
}

export type MetricDefinition = Labelled | string;

type NoLabels = { readonly [label: string]: never };

/** A closed label has one of its values; an open one any text. */
type LabelsOf<Definition> = Definition extends { readonly labels: infer Bounds }
  ? { readonly [Label in keyof Bounds]: Bounds[Label] extends readonly (infer Value)[] ? Value : string }
  : NoLabels;

type LabelsIn<Table extends Readonly<Record<string, MetricDefinition>>> = {
  readonly [Name in keyof Table]: LabelsOf<Table[Name]>;
};

// Interfaces, because the compiler resolves a member of one by a name that is not known yet.
export interface CounterLabels extends LabelsIn<typeof COUNTERS> {}
export interface GaugeLabels extends LabelsIn<typeof GAUGES> {}
export interface HistogramLabels extends LabelsIn<typeof HISTOGRAMS> {}

export type CounterName = keyof CounterLabels;
export type GaugeName = keyof GaugeLabels;
export type HistogramName = keyof HistogramLabels;
export type MetricName = CounterName | GaugeName | HistogramName;

const ALL: Readonly<Record<MetricName, MetricDefinition>> = { ...COUNTERS, ...GAUGES, ...HISTOGRAMS };

/** The label bounds of any metric. */
export function labelsOf(name: MetricName): Labelled['labels'] {
  return describe(ALL[name]).labels;
}

export function describe(definition: MetricDefinition): Labelled {
  return typeof definition === 'string' ? { help: definition, labels: {} } : definition;
}

export type GrpcMethodLabels = CounterLabels['grpc_server_started_total'];
/** Guest processes by the kind of component they run. */
export type GuestPool = CounterLabels['cairn_guest_calls_total']['pool'];
/** Compiled components, and folded states. */
export type GuestCache = CounterLabels['cairn_guest_cache_damaged_total']['kind'];
export type TransactionResult = CounterLabels['cairn_transactions_total']['result'];
/**
 * `unreached`: no node with a replica was reached; `lost`: a write with unknown outcome; `abandoned`: cancelled by the
 * client.
 */
export type RelayResult = CounterLabels['cairn_relayed_requests_total']['result'];
export type RelayProtocol = CounterLabels['cairn_relayed_requests_total']['protocol'];
export type McpMethod = CounterLabels['cairn_mcp_requests_total']['method'];
/** Ended by its client, after a timeout, evicted for another session, or with its node. */
export type McpSessionEnd = CounterLabels['cairn_mcp_sessions_ended_total']['reason'];
export type RateLimitedProtocol = CounterLabels['cairn_rate_limited_total']['protocol'];

/** Counted MCP methods; any other counts as `other`. */
export const MCP_METHODS: readonly McpMethod[] = COUNTERS.cairn_mcp_requests_total.labels.method;

/**
 * The process of the operator: its settings, its leadership, its endpoints.
 *
 * For: controllers that run while this process is the leader, and its state for Kubernetes and Prometheus.
 *
 * Several processes may run; the Lease lets one of them act. The others keep their copies of the objects current, so
 * that they take over without reading everything first.
 *
 * Not here: which controllers there are (../operator.ts), and what they do. It knows nothing of Cairn.
 */
export { type OperatorOptions, readOptions } from './options.ts';
export { OperatorProcess, type ProcessOptions } from './process.ts';
export { OPERATOR_METRICS, portOf, Telemetry } from './telemetry.ts';

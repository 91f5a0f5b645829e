/**
 * The process of the operator: its settings, its leadership, its endpoints.
 *
 * For: controllers that run while this process is the leader, and its state for Kubernetes and Prometheus.
 *
 * Not here: which controllers there are (../main.ts).
 */
export { type OperatorOptions, readOptions } from './options.ts';
export { OperatorProcess, type ProcessOptions } from './process.ts';
export { portOf, Telemetry } from './telemetry.ts';

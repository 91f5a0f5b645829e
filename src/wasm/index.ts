/**
 * #wasm: the host of components. It reads, limits and runs what users publish, isolated from the node.
 *
 * For: the inspector, which refuses an invalid component before anything else reads it; the cap and the meter, which
 * limit memory and fuel of its core modules; the linker, which instantiates it without generated code; the canonical
 * ABI, which passes values; a WASI without capabilities; publishing, and the processes that do all of that.
 *
 * Not here: what a component computes, and when it is called (#components). The process of the node loads and runs no
 * guest.
 *
 * Refusals of publishing and faults of calls are returned, with a code and a message. The invariants G1 to G20 are
 * documented where they are kept.
 */

export { readValue, writeValue } from './abi/value-codec.ts';
export { Handle, isList, isRecord, tagged, type Value, type ValueList, type ValueRecord } from './abi/values.ts';
export { type JobOutcome, type KeptArtifact, OVERDUE, type TimeLimits } from './executors/executor-slot.ts';
export {
  type CallListener,
  DEFAULT_EXECUTORS,
  type ExecutorFigures,
  type ExecutorSettings,
  Executors,
  type FoldCall,
  type FoldOutcome,
  type FunctionCall,
} from './executors/executors.ts';
export type { HostCall } from './executors/messages.ts';
export { DEFAULT_PUBLISHER, Publisher } from './executors/publisher.ts';
export { FAULT_CODES, type Fault, type FaultCode } from './faults.ts';
export { ARTIFACT_POLICY, type Artifact, decodeArtifact } from './guest/artifact.ts';
export type { CallLimits, Limited } from './guest/calls.ts';
export { NullWasi } from './guest/null-wasi.ts';
export { cap } from './limiting/cap.ts';
export { FUEL_EXPORT, meter } from './limiting/meter.ts';
export { DEFAULT_LIMITS } from './limits.ts';
export type { PublishOptions } from './publishing/publish.ts';
export type { SdkExamples } from './publishing/sdk-fitting.ts';
export type { ComponentKind } from './reading/allowed-imports.ts';
export { type Growth, type Inspected, inspect } from './reading/inspect.ts';
export { REFUSAL_CODES, type Refusal, type RefusalCode } from './reading/refusal.ts';
export type { Binding, Shape } from './reading/required-exports.ts';

/**
 * #wasm: the host of components. What users publish is read, limited and run here, and cannot hurt the node.
 *
 * For: the inspector, which refuses a component before anything else sees it; the cap and the meter, which rewrite its
 * core modules so that they keep within memory and fuel; the linker, which puts it together without generated code; the
 * canonical ABI, by which values cross; the WASI that gives a guest nothing; publishing, and the processes in which all
 * of that happens.
 *
 * Not here: what a component computes, and when it is called (#components). Nothing of a guest is loaded or run in the
 * process of the node.
 *
 * A refusal of what is published and a fault of a call are answers, returned with a code and a sentence. The invariants
 * G1 to G20 stand where they are kept.
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
export type { Binding, Shape } from './reading/worlds.ts';

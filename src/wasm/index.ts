/**
 * #wasm: the host of components. What users publish is read, limited and run here, and cannot hurt the node.
 *
 * For: the inspector, which refuses a component before anything else sees it; the cap and the meter, which rewrite its
 * core modules so that they keep within memory and fuel; the WASI that gives a guest nothing. All of these are
 * functions: they wait for nothing and read nothing.
 *
 * Not here: what a component computes, and when it is called (#components). Nothing of a guest is loaded or run in the
 * process of the node.
 *
 * A refusal is an answer, returned with a code, a sentence and a place. The invariants G1 to G10 stand where they are
 * kept: names.ts, features.ts, code-walk.ts, tally.ts, allowed-imports.ts, worlds.ts, cap.ts, meter.ts, null-wasi.ts.
 */
export type { ComponentKind, ImportedInterface } from './allowed-imports.ts';
export { cap } from './cap.ts';
export { type Growth, type Inspected, type InspectOptions, inspect } from './inspect.ts';
export { type ComponentLimits, DEFAULT_LIMITS } from './limits.ts';
export { FUEL_EXPORT, INITIAL_FUEL, meter } from './meter.ts';
export { Denied, type NullWasiOptions, nullWasi, type WasiImports } from './null-wasi.ts';
export { REFUSAL_CODES, type Refusal, type RefusalCode } from './refusal.ts';
export type { Binding, ExportedFunction, Shape } from './worlds.ts';

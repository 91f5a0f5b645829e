/**
 * #wasm: the host of components. What users publish is read, limited and run here, and cannot hurt the node.
 *
 * For: the inspector, a function over bytes that waits for nothing. It sees a component before anything else does, and
 * refuses what could hurt.
 *
 * Not here: what a component computes, and when it is called (#components). Nothing of a guest is loaded or run in the
 * process of the node.
 *
 * A refusal is an answer, returned with a code, a sentence and a place. The invariants G1 to G6 stand where they are
 * kept: names.ts, features.ts, code-walk.ts, tally.ts, allowed-imports.ts and worlds.ts.
 */
export type { ComponentKind, ImportedInterface } from './allowed-imports.ts';
export { type Growth, type Inspected, type InspectOptions, inspect } from './inspect.ts';
export { type ComponentLimits, DEFAULT_LIMITS } from './limits.ts';
export { REFUSAL_CODES, type Refusal, type RefusalCode } from './refusal.ts';
export type { Binding, ExportedFunction, Shape } from './worlds.ts';

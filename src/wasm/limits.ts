/**
 * How large the parts of a component may be: enough for every guest that was measured, and little enough that nothing
 * which reads it takes long or much. Those of the first kind are settings; the others are ours.
 */

/** What an operator may set for a kind of component. */
export interface ComponentLimits {
  readonly componentBytesMax: number;
  /** Of all memories of all instances together, in bytes. */
  readonly memoryBytesMax: number;
  /** Elements of all tables of all instances together. */
  readonly tableElementsMax: number;
  readonly coreModulesMax: number;
  /** Instances of core modules that exist when the component is instantiated. */
  readonly coreInstancesMax: number;
  /** Components inside, and instances of them. */
  readonly nestedComponentsMax: number;
  readonly functionBytesMax: number;
  readonly localsMax: number;
}

/** Limits of which each is what `of` says, always in this order. */
export function componentLimits(of: (name: keyof ComponentLimits) => number): ComponentLimits {
  return {
    componentBytesMax: of('componentBytesMax'),
    memoryBytesMax: of('memoryBytesMax'),
    tableElementsMax: of('tableElementsMax'),
    coreModulesMax: of('coreModulesMax'),
    coreInstancesMax: of('coreInstancesMax'),
    nestedComponentsMax: of('nestedComponentsMax'),
    functionBytesMax: of('functionBytesMax'),
    localsMax: of('localsMax'),
  };
}

const MIB = 2 ** 20;

export const DEFAULT_LIMITS: ComponentLimits = {
  componentBytesMax: 64 * MIB,
  memoryBytesMax: 128 * MIB,
  tableElementsMax: 100_000,
  coreModulesMax: 64,
  coreInstancesMax: 256,
  nestedComponentsMax: 64,
  functionBytesMax: MIB,
  localsMax: 50_000,
};

/** A byte count that names of mangled functions stay below. */
export const NAME_BYTES_MAX = 512;
/** A guest written in C++ or Rust has one table, one whose language collects garbage a few. */
export const TABLES_MAX = 16;
/** Functions of one core module; an engine for JavaScript has 15,000. */
export const FUNCTIONS_MAX = 200_000;
/** Types, imports, globals and exports of one core module, each: half of what engines take, as the meter adds some. */
export const ENTRIES_MAX = 500_000;
/** Sections of one core module, or of one component without what is inside it. */
export const SECTIONS_MAX = 10_000;
/** Types, fields, imports, exports, aliases and the like at the level of components, all together. */
export const DEFINITIONS_MAX = 100_000;
/**
 * Functions and types of all imported interfaces together, and of all exported ones. An interface is defined once and
 * may be imported many times, so these are not bounded by what defines them.
 */
export const OFFERED_MAX = 10_000;
/** How deep components and their types may stand inside one another. */
export const DEPTH_MAX = 16;

export const PAGE_BYTES = 65_536;

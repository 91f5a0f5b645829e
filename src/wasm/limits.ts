/**
 * Limits on the size and the memory of components: enough for every guest that was measured, and small enough to bound
 * the time and memory of everything that reads one. `ComponentLimits` are settings; the others are fixed.
 */

/** Limits that an operator may set for a kind of component. */
export interface ComponentLimits {
  readonly componentBytesMax: number;
  /** Sum over all memories of all instances, in bytes. */
  readonly memoryBytesMax: number;
  /** Sum over all tables of all instances. */
  readonly tableElementsMax: number;
}

const MIB = 2 ** 20;

export const DEFAULT_LIMITS: ComponentLimits = {
  componentBytesMax: 64 * MIB,
  memoryBytesMax: 128 * MIB,
  tableElementsMax: 100_000,
};

export const CORE_MODULES_MAX = 64;
/** Instances of core modules that exist when the component is instantiated. */
export const CORE_INSTANCES_MAX = 256;
/** Nested components, and instances of them. */
export const NESTED_COMPONENTS_MAX = 64;
export const FUNCTION_BYTES_MAX: number = MIB;
/** Locals of one function. */
export const LOCALS_MAX = 50_000;
/** Maximum length of a name; mangled function names are shorter. */
export const NAME_BYTES_MAX = 512;
/** A guest in C++ or Rust has one table, one in a garbage-collected language a few. */
export const TABLES_MAX = 16;
/** Functions of one core module; a JavaScript engine has 15,000. */
export const FUNCTIONS_MAX = 200_000;
/** Types, imports, globals and exports of one core module, each: half of the engines' limit, as the meter adds some. */
export const ENTRIES_MAX = 500_000;
/** Sections of one core module, or of one component without its nested parts. */
export const SECTIONS_MAX = 10_000;
/** Sum of types, fields, imports, exports, aliases and so on at the level of components. */
export const DEFINITIONS_MAX = 100_000;
/**
 * Functions and types of all imported interfaces together, and of all exported ones. One definition of an interface may
 * be imported many times, so DEFINITIONS_MAX does not limit these.
 */
export const OFFERED_MAX = 10_000;
/** Maximum nesting of components and their types. */
export const DEPTH_MAX = 16;

export const PAGE_BYTES = 65_536;

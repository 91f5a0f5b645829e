/**
 * Counts the instances, memory and table elements that a component creates when it is instantiated.
 *
 * A component of 200 bytes may instantiate another one twice, which instantiates another one twice, and so on: the
 * limits apply to all instances, not to the binary. So each component has the counts of one instance of it, and each
 * instantiation adds them to those of the enclosing component.
 *
 *   G4  No accepted component instantiates more instances, memory or table elements than its limits allow.
 */
import { CORE_INSTANCES_MAX, type ComponentLimits, NESTED_COMPONENTS_MAX, OFFERED_MAX, PAGE_BYTES } from '../limits.ts';
import type { Counts } from './component-types.ts';
import type { CoreModule } from './core-module.ts';
import { Refused } from './refusal.ts';

export const NO_INSTANCES: Counts = {
  coreInstances: 0,
  instances: 0,
  memories: 0,
  memoryPages: 0,
  tables: 0,
  tableElements: 0,
};

export function countsOf(module: CoreModule): Counts {
  const sum = (minima: CoreModule['memories']): number => minima.reduce((all, { minimum }) => all + minimum, 0);
  return {
    coreInstances: 1,
    instances: 0,
    memories: module.memories.length,
    memoryPages: sum(module.memories),
    tables: module.tables.length,
    tableElements: sum(module.tables),
  };
}

export function instanceOf(counts: Counts): Counts {
  return { ...counts, instances: counts.instances + 1 };
}

/** Adds the counts of two. @throws Refused when the sum exceeds the limits. */
export function addCounts(counts: Counts, more: Counts, limits: ComponentLimits, offset: number): Counts {
  const sum: Counts = {
    coreInstances: counts.coreInstances + more.coreInstances,
    instances: counts.instances + more.instances,
    memories: counts.memories + more.memories,
    memoryPages: counts.memoryPages + more.memoryPages,
    tables: counts.tables + more.tables,
    tableElements: counts.tableElements + more.tableElements,
  };
  expectFew(sum.coreInstances, CORE_INSTANCES_MAX, 'instances of core modules', offset);
  expectFew(sum.instances, NESTED_COMPONENTS_MAX, 'instances of components', offset);
  expectRoom(sum.memoryPages * PAGE_BYTES, limits.memoryBytesMax, 'bytes of memory', offset);
  expectRoom(sum.tableElements, limits.tableElementsMax, 'elements of tables', offset);
  return sum;
}

/** Checks a module alone, before any instance of it. @throws Refused */
export function expectRoomForTables({ tables }: CoreModule, limits: ComponentLimits, offset: number): void {
  for (const { minimum } of tables) expectRoom(minimum, limits.tableElementsMax, 'elements of tables', offset);
}

/** @throws Refused when the interfaces that a component imports, or exports, have too many items. */
export function expectFewOffered(count: number, direction: 'imports' | 'exports', offset: number): void {
  expectFew(count, OFFERED_MAX, `functions and types in the interfaces that it ${direction}`, offset);
}

function expectFew(count: number, most: number, what: string, offset: number): void {
  if (count <= most) return;
  throw new Refused('TooLarge', offset, `The component has ${count} ${what}; the limit is ${most}`);
}

function expectRoom(minimum: number, most: number, what: string, offset: number): void {
  if (minimum <= most) return;
  const message = `The component asks for ${minimum} ${what} before it runs; the limit is ${most}`;
  throw new Refused('MemoryLimit', offset, message);
}

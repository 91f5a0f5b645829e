/**
 * The totals of a component when it is instantiated.
 *
 * A component of 200 bytes may instantiate another one twice, which instantiates another one twice, and so on: the
 * limits apply to all instances, not to the binary. So each component has the tally of one instance, and each
 * instantiation adds that tally to the enclosing component.
 *
 *   G4  No accepted component instantiates more instances, memory or table elements than its limits allow.
 */
import { type ComponentLimits, OFFERED_MAX, PAGE_BYTES } from '../limits.ts';
import type { Tally } from './component-types.ts';
import type { CoreModule } from './core-module.ts';
import { Refused } from './refusal.ts';

export const NO_INSTANCES: Tally = {
  coreInstances: 0,
  instances: 0,
  memories: 0,
  memoryPages: 0,
  tables: 0,
  tableElements: 0,
};

export function tallyOf(module: CoreModule): Tally {
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

export function instanceOf(tally: Tally): Tally {
  return { ...tally, instances: tally.instances + 1 };
}

/** Adds two tallies. @throws Refused when the sum exceeds the limits. */
export function addTally(tally: Tally, more: Tally, limits: ComponentLimits, offset: number): Tally {
  const sum: Tally = {
    coreInstances: tally.coreInstances + more.coreInstances,
    instances: tally.instances + more.instances,
    memories: tally.memories + more.memories,
    memoryPages: tally.memoryPages + more.memoryPages,
    tables: tally.tables + more.tables,
    tableElements: tally.tableElements + more.tableElements,
  };
  expectFew(sum.coreInstances, limits.coreInstancesMax, 'instances of core modules', offset);
  expectFew(sum.instances, limits.nestedComponentsMax, 'instances of components', offset);
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
  throw new Refused('TooLarge', offset, `The component comes to ${count} ${what}; ${most} is the most`);
}

function expectRoom(minimum: number, most: number, what: string, offset: number): void {
  if (minimum <= most) return;
  const message = `The component asks for ${minimum} ${what} before it runs; ${most} is the most`;
  throw new Refused('MemoryLimit', offset, message);
}

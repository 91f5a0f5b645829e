/**
 * The index spaces of a component, or of one of its types, while it is read.
 *
 * Items inside core modules are not recorded, because nothing here depends on them. An index must refer to an earlier
 * definition: a larger one is refused.
 */
import type { Component, ComponentType, FunctionType, Item, Offers } from './component-types.ts';
import type { CoreModule } from './core-module.ts';
import { Refused } from './refusal.ts';

export class Scope {
  readonly outer: Scope | undefined;
  readonly depth: number;
  readonly coreModules: CoreModule[] = [];
  readonly functions: FunctionType[] = [];
  readonly types: ComponentType[] = [];
  readonly components: Component[] = [];
  readonly instances: Offers[] = [];

  constructor(outer?: Scope) {
    this.outer = outer;
    this.depth = outer === undefined ? 0 : outer.depth + 1;
  }

  /** Gives the item the next index of its sort. */
  add(item: Item): void {
    if (item.sort === 'function') this.functions.push(item.type);
    else if (item.sort === 'type') this.types.push(item.type);
    else if (item.sort === 'instance') this.instances.push(item.offers);
    else if (item.sort === 'component') this.components.push(item.component);
  }
}

/** The scope so many levels out; 0 is the scope itself. @throws Refused when there are fewer levels. */
export function scopeAt(inner: Scope, level: number, offset: number): Scope {
  let scope: Scope | undefined = inner;
  for (let left = level; left > 0 && scope !== undefined; left--) scope = scope.outer;
  if (scope !== undefined) return scope;
  const message = `An alias refers ${level} levels outwards; the component has ${inner.depth}`;
  throw new Refused('InvalidComponent', offset, message);
}

/** The entry at the index. @throws Refused when the index is not defined yet. */
export function entry<Entry>(entries: readonly Entry[], index: number, what: string, offset: number): Entry {
  const found = entries[index];
  if (index < entries.length && found !== undefined) return found;
  const message = `The ${what} ${index} is not defined; ${entries.length} are defined before it is used`;
  throw new Refused('InvalidComponent', offset, message);
}

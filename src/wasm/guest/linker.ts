/**
 * The linker: instantiates a component step by step, as its binary says.
 *
 * It interprets the steps and generates no code, so no text of a guest is ever parsed as code. When a guest calls an
 * import, the host resolves it by the names of interface and function. A component with an index that does not exist,
 * or that names an item of another sort, cannot be instantiated.
 *
 *   G13 A guest can call the functions that the host provides and nothing else: core modules receive exports of one
 *       another, and functions made here.
 */
import { type Callable, lifted, lowered } from '../abi/abi-types.ts';
import { type Budget, Canon, type Gate } from '../abi/canon.ts';
import { Handles } from '../abi/handles.ts';
import { Handle, type ResourceHome } from '../abi/values.ts';
import {
  type CoreCode,
  type CoreExports,
  type CoreFunction,
  type CoreItem,
  type CoreMemory,
  instantiateCore,
  isCoreFunction,
  isCoreMemory,
} from '../engine.ts';
import { Faulted } from '../faults.ts';
import type { Span } from '../reading/binary-reader.ts';
import type {
  CanonicalOptions,
  Component,
  ComponentType,
  CoreReference,
  CoreSort,
  FunctionType,
  Item,
  Named,
  Reference,
  Step,
} from '../reading/component-types.ts';

/** Returns the host function of an import; the interface name includes its version. */
export type HostFunctions = (interfaceName: string, functionName: string, type: FunctionType) => Callable;

export interface LinkOptions {
  /** The compiled core module at that span of the component. */
  code(span: Span): CoreCode;
  readonly host: HostFunctions;
  readonly budget: Budget;
}

export interface Linked {
  /** Functions and instances of them, by name. */
  readonly exports: ReadonlyMap<string, Export>;
  /** The exports of all core instances, in the order in which they were made. */
  readonly cores: readonly CoreExports[];
}

/** An export at run time; types and core modules cannot be called. */
export type Export =
  | { readonly sort: 'function'; readonly call: Callable }
  | { readonly sort: 'instance'; readonly exports: ReadonlyMap<string, Export> }
  | { readonly sort: 'component'; readonly component: Component; readonly outer: Instance | undefined }
  | { readonly sort: 'core module'; readonly span: Span }
  | { readonly sort: 'type' };

/** @throws Faulted NotInstantiable, or the fault of a start function. */
export function link(component: Component, options: LinkOptions): Linked {
  const cores: CoreExports[] = [];
  const exports = new Instance(component, undefined, { ...options, cores }).run(hostInstances(component, options.host));
  return { exports, cores };
}

interface Linking extends LinkOptions {
  readonly cores: CoreExports[];
}

/** The imports of the component, as instances of host functions. */
function hostInstances({ imports }: Component, host: HostFunctions): ReadonlyMap<string, Export> {
  return new Map([...imports].map(([name, { item }]) => [name, hosted(name, item, host)]));
}

function hosted(name: string, item: Item, host: HostFunctions): Export {
  if (item.sort !== 'instance') return { sort: 'type' };
  const parts = [...item.offers].map(([part, offered]): readonly [string, Export] => [
    part,
    offered.sort === 'function' ? { sort: 'function', call: host(name, part, offered.type) } : { sort: 'type' },
  ]);
  return { sort: 'instance', exports: new Map(parts) };
}

class Instance {
  readonly #component: Component;
  readonly #outer: Instance | undefined;
  readonly #linking: Linking;
  readonly #handles: Handles = new Handles();
  readonly #gate: Gate = { isOpen: true };
  readonly #homes: Map<ComponentType, ResourceHome> = new Map();
  readonly #coreInstances: CoreExports[] = [];
  readonly #coreItems: Readonly<Record<CoreSort, CoreItem[]>> = {
    'core function': [],
    'core table': [],
    'core memory': [],
    'core global': [],
  };
  readonly #items: Readonly<Record<Export['sort'], Export[]>> = {
    function: [],
    instance: [],
    component: [],
    'core module': [],
    type: [],
  };
  readonly #exports: Map<string, Export> = new Map();

  constructor(component: Component, outer: Instance | undefined, linking: Linking) {
    this.#component = component;
    this.#outer = outer;
    this.#linking = linking;
  }

  run(given: ReadonlyMap<string, Export>): ReadonlyMap<string, Export> {
    for (const step of this.#component.steps) this.#step(step, given);
    return this.#exports;
  }

  #step(step: Step, given: ReadonlyMap<string, Export>): void {
    switch (step.kind) {
      case 'core module':
        return this.#add({ sort: 'core module', span: step.span });
      case 'component':
        return this.#add({ sort: 'component', component: step.component, outer: this });
      case 'core instance':
        return this.#instantiateCore(step.module, step.given);
      case 'core exports':
        this.#coreInstances.push(bare(step.exports.map(({ name, to }) => [name, this.#core(to)])));
        return;
      case 'instance':
        return this.#instantiate(step.component, step.given);
      case 'exports':
        return this.#add({ sort: 'instance', exports: this.#named(step.exports) });
      case 'core alias':
        this.#coreItems[step.sort].push(this.#coreExport(step.instance, step.name));
        return;
      case 'alias':
        return this.#add(this.#exportOf(step.instance, step.name));
      case 'outer alias':
        return this.#add(this.#outwards(step.level).#item(step.to));
      case 'import':
        return this.#add(present(given.get(step.name), `import "${step.name}"`));
      case 'export': {
        const item = this.#item(step.to);
        this.#exports.set(step.name, item);
        return this.#add(item);
      }
      case 'lift': {
        const core = this.#coreFunction(step.core);
        const { postReturn } = step.options;
        const lifting = { core, postReturn: postReturn === undefined ? undefined : this.#coreFunction(postReturn) };
        return this.#add({ sort: 'function', call: lifted(step.type, this.#canon(step.options), lifting) });
      }
      case 'lower': {
        const callee = at(this.#items.function, step.function, 'function');
        if (callee.sort !== 'function') throw unlinkable(`index ${step.function} is not a function`);
        return this.#addCore(lowered(step.type, this.#canon(step.options), callee.call));
      }
      case 'resource':
        this.#homes.set(step.type, this.#home(step.destructor));
        return this.#add({ sort: 'type' });
      case 'new resource':
        return this.#addCore((id) => this.#handles.own(new Handle(Number(id) >>> 0, this.#homeOf(step.type))));
      case 'drop resource':
        return this.#addCore((index) => this.#drop(Number(index)));
      case 'resource rep':
        return this.#addCore((index) => this.#handles.get(Number(index)).id | 0);
    }
  }

  #instantiateCore(index: number, given: readonly Named<number>[]): void {
    const module = at(this.#items['core module'], index, 'core module');
    if (module.sort !== 'core module') throw unlinkable(`index ${index} is not a core module`);
    const imports = bare(given.map(({ name, to }) => [name, at(this.#coreInstances, to, 'core instance')]));
    const exports = instantiateCore(this.#linking.code(module.span), imports);
    this.#linking.cores.push(exports);
    this.#coreInstances.push(exports);
  }

  #instantiate(index: number, given: readonly Named<Reference>[]): void {
    const found = at(this.#items.component, index, 'component');
    if (found.sort !== 'component') throw unlinkable(`index ${index} is not a component`);
    const inner = new Instance(found.component, found.outer, this.#linking);
    this.#add({ sort: 'instance', exports: inner.run(this.#named(given)) });
  }

  #canon({ encoding, memory, realloc }: CanonicalOptions): Canon {
    return new Canon({
      encoding,
      memory: memory === undefined ? undefined : this.#coreMemory(memory),
      realloc: realloc === undefined ? undefined : this.#coreFunction(realloc),
      handles: this.#handles,
      budget: this.#linking.budget,
      gate: this.#gate,
    });
  }

  #home(destructor: number | undefined): ResourceHome {
    const handles = this.#handles;
    const destroy = destructor === undefined ? undefined : this.#coreFunction(destructor);
    return { handles, destroy: (id) => void destroy?.(id | 0) };
  }

  #homeOf(type: ComponentType): ResourceHome {
    return present(this.#homes.get(type), 'a resource type');
  }

  /** Drops a handle: a borrow is returned, an owned resource is destroyed by its maker. */
  #drop(index: number): undefined {
    const { isOwned, handle } = this.#handles.drop(index);
    if (isOwned) handle.home?.destroy(handle.id);
  }

  #named(references: readonly Named<Reference>[]): ReadonlyMap<string, Export> {
    return new Map(references.map(({ name, to }) => [name, this.#item(to)]));
  }

  /** A core item cannot be passed on at the level of components. */
  #item({ sort, index }: Reference): Export {
    if (sort === 'core item') throw unlinkable(`core item ${index} cannot be passed to a component`);
    return sort === 'type' ? { sort: 'type' } : at(this.#items[sort], index, sort);
  }

  #exportOf(index: number, name: string): Export {
    const instance = at(this.#items.instance, index, 'instance');
    if (instance.sort !== 'instance') throw unlinkable(`index ${index} is not an instance`);
    return present(instance.exports.get(name), `export "${name}"`);
  }

  #outwards(level: number): Instance {
    return level === 0 ? this : present(this.#outer, 'an enclosing component').#outwards(level - 1);
  }

  #add(item: Export): void {
    this.#items[item.sort].push(item);
  }

  #addCore(made: CoreFunction): void {
    this.#coreItems['core function'].push(made);
  }

  #core({ sort, index }: CoreReference): CoreItem {
    return at(this.#coreItems[sort], index, sort);
  }

  #coreExport(index: number, name: string): CoreItem {
    const instance = at(this.#coreInstances, index, 'core instance');
    return present(Object.hasOwn(instance, name) ? instance[name] : undefined, `core export "${name}"`);
  }

  #coreFunction(index: number): CoreFunction {
    const found = at(this.#coreItems['core function'], index, 'core function');
    if (isCoreFunction(found)) return found;
    throw unlinkable(`core function ${index} is not a function`);
  }

  #coreMemory(index: number): CoreMemory {
    const found = at(this.#coreItems['core memory'], index, 'core memory');
    if (isCoreMemory(found)) return found;
    throw unlinkable(`core memory ${index} is not a memory`);
  }
}

/** Without a prototype, so that a core module that imports `constructor` finds nothing. */
function bare<Part>(entries: readonly (readonly [name: string, part: Part])[]): Readonly<Record<string, Part>> {
  const made: Record<string, Part> = Object.fromEntries(entries);
  Object.setPrototypeOf(made, null);
  return made;
}

function at<Entry>(entries: readonly Entry[], index: number, sort: string): Entry {
  const found = entries[index];
  if (found === undefined) throw unlinkable(`${sort} ${index} does not exist; there are ${entries.length}`);
  return found;
}

function present<Wanted>(found: Wanted | undefined, what: string): Wanted {
  if (found === undefined) throw unlinkable(`${what} is missing`);
  return found;
}

function unlinkable(why: string): Faulted {
  return new Faulted('NotInstantiable', `The component cannot be instantiated: ${why}`);
}

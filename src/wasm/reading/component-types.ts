/**
 * Types of the component model, and the shapes that distinguish functions.
 *
 * A type refers to earlier types, so the types of a binary are an acyclic graph; its expansion may be exponential in
 * its depth. A shape is therefore cut at a maximum length.
 */
import type { Span } from './binary-reader.ts';
import type { CoreModule } from './core-module.ts';

export type ValueType =
  | { readonly kind: 'primitive'; readonly name: string }
  | { readonly kind: 'list' | 'option'; readonly of: ValueType }
  | { readonly kind: 'record'; readonly fields: readonly Field[] }
  | { readonly kind: 'variant'; readonly cases: readonly Case[] }
  | { readonly kind: 'tuple'; readonly items: readonly ValueType[] }
  | { readonly kind: 'flags' | 'enum'; readonly labels: readonly string[] }
  | { readonly kind: 'result'; readonly value: ValueType | undefined; readonly error: ValueType | undefined }
  | { readonly kind: 'own' | 'borrow' };

export interface Field {
  readonly name: string;
  readonly type: ValueType;
}

export interface Case {
  readonly name: string;
  readonly type: ValueType | undefined;
}

export interface FunctionType {
  readonly kind: 'function';
  readonly parameters: readonly Field[];
  readonly result: ValueType | undefined;
}

/** The exports of an instance, or of a component once it is instantiated. */
export type Offers = ReadonlyMap<string, Item>;

/** An item with an index: imported, exported, aliased or defined. */
export type Item =
  | { readonly sort: 'function'; readonly type: FunctionType }
  | { readonly sort: 'type'; readonly type: ComponentType }
  | { readonly sort: 'instance'; readonly offers: Offers }
  | { readonly sort: 'component'; readonly component: Component }
  | { readonly sort: 'core module'; readonly module: CoreModule }
  | { readonly sort: 'core item' };

export type ComponentType =
  | { readonly kind: 'value'; readonly type: ValueType }
  | FunctionType
  | { readonly kind: 'instance'; readonly offers: Offers }
  | { readonly kind: 'component' }
  | { readonly kind: 'resource'; readonly destructor: number | undefined };

/** Totals of one instance of a component, nested instances included. */
export interface Counts {
  readonly coreInstances: number;
  readonly instances: number;
  readonly memories: number;
  readonly memoryPages: number;
  readonly tables: number;
  readonly tableElements: number;
}

export interface Component {
  readonly imports: ReadonlyMap<string, ImportedItem>;
  readonly exports: Offers;
  readonly counts: Counts;
  readonly steps: readonly Step[];
}

export interface ImportedItem {
  readonly item: Item;
  readonly offset: number;
}

/** Sorts of core exports, in the order of their encoding. */
export const CORE_SORTS = ['core function', 'core table', 'core memory', 'core global'] as const;
export type CoreSort = (typeof CORE_SORTS)[number];

/** An item by its index. */
export interface Reference {
  readonly sort: Item['sort'];
  readonly index: number;
}

export interface CoreReference {
  readonly sort: CoreSort;
  readonly index: number;
}

export interface Named<To> {
  readonly name: string;
  readonly to: To;
}

export type TextEncoding = 'utf8' | 'utf16' | 'latin1+utf16';

/** Options of lifting and lowering: string encoding, memory, allocator, and post-return function. */
export interface CanonicalOptions {
  readonly encoding: TextEncoding;
  readonly memory: number | undefined;
  readonly realloc: number | undefined;
  readonly postReturn: number | undefined;
}

/**
 * The steps that instantiate a component, in the order of its definitions: the reader records them, the linker
 * (linker.ts) executes them. Each step adds to one of the index spaces, to which later steps refer, as in the binary.
 * Types have no steps: a step that needs a type holds it.
 */
export type Step =
  | { readonly kind: 'core module'; readonly span: Span }
  | { readonly kind: 'component'; readonly component: Component }
  | { readonly kind: 'core instance'; readonly module: number; readonly given: readonly Named<number>[] }
  | { readonly kind: 'core exports'; readonly exports: readonly Named<CoreReference>[] }
  | { readonly kind: 'instance'; readonly component: number; readonly given: readonly Named<Reference>[] }
  | { readonly kind: 'exports'; readonly exports: readonly Named<Reference>[] }
  | { readonly kind: 'core alias'; readonly sort: CoreSort; readonly instance: number; readonly name: string }
  | { readonly kind: 'alias'; readonly sort: Item['sort']; readonly instance: number; readonly name: string }
  | { readonly kind: 'outer alias'; readonly level: number; readonly to: Reference }
  | {
      readonly kind: 'lift';
      readonly core: number;
      readonly type: FunctionType;
      readonly options: CanonicalOptions;
    }
  | {
      readonly kind: 'lower';
      readonly function: number;
      readonly type: FunctionType;
      readonly options: CanonicalOptions;
    }
  | { readonly kind: 'resource'; readonly type: ComponentType; readonly destructor: number | undefined }
  | { readonly kind: 'new resource' | 'drop resource' | 'resource rep'; readonly type: ComponentType }
  | { readonly kind: 'import'; readonly name: string; readonly item: Item }
  | { readonly kind: 'export'; readonly name: string; readonly to: Reference };

const SHAPE_LENGTH_MAX = 200;

/**
 * The shape of a function, such as `(list<u8>, list<record>) -> option<list<u8>>`, for comparison and messages. It has
 * no names of parameters, fields and cases, and is cut when it is long.
 */
export function shapeOf({ parameters, result }: FunctionType): string {
  const shape = new Shape();
  shape.list(
    '(',
    parameters.map(({ type }) => type),
    ')',
  );
  if (result !== undefined) shape.list(' -> ', [result], '');
  return shape.text;
}

class Shape {
  text = '';

  list(open: string, types: readonly (ValueType | undefined)[], close: string): void {
    this.text += open;
    for (const [i, type] of types.entries()) {
      if (this.text.length > SHAPE_LENGTH_MAX) break;
      if (i > 0) this.text += ', ';
      this.#value(type);
    }
    this.text += this.text.length > SHAPE_LENGTH_MAX ? '…' : close;
  }

  #value(type: ValueType | undefined): void {
    switch (type?.kind) {
      case undefined:
        this.text += '_';
        return;
      case 'primitive':
        this.text += type.name;
        return;
      case 'list':
      case 'option':
        return this.list(`${type.kind}<`, [type.of], '>');
      case 'tuple':
        return this.list('tuple<', type.items, '>');
      case 'result':
        return this.list('result<', [type.value, type.error], '>');
      case 'record':
      case 'variant':
      case 'flags':
      case 'enum':
      case 'own':
      case 'borrow':
        this.text += type.kind;
    }
  }
}

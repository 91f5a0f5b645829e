/**
 * Types of the component model, and the shapes that functions are told apart by.
 *
 * A type refers to others that were defined before it, so the types of a binary are a graph without cycles; written out
 * it may be as long as two to the power of its depth. A shape therefore stops at a length.
 */

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

/** What an instance offers, and what a component does once it is instantiated. */
export type Offers = ReadonlyMap<string, Item>;

/** Something with an index of its own: what is imported, exported, aliased or defined. */
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
  | { readonly kind: 'component' | 'resource' };

/** What one instance of a component amounts to, with everything inside it. */
export interface Tally {
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
  readonly tally: Tally;
}

export interface ImportedItem {
  readonly item: Item;
  readonly offset: number;
}

const SHAPE_LENGTH_MAX = 200;

/**
 * `(list<u8>, list<record>) -> option<list<u8>>`: what functions are told apart by, and shown as. Names of parameters,
 * fields and cases are left out, and it is cut where it is long.
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

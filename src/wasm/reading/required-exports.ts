/**
 * Finds the exports that a component of each kind must have, and the optional ones, in our own worlds or in those of
 * the EvidentSource SDK. The types of the functions tell the two apart. A function may be exported directly or in an
 * interface; packages and versions are ignored.
 *
 *   G6  An accepted component exports the function of its kind in exactly one of the shapes listed here.
 */
import type { ComponentKind } from './allowed-imports.ts';
import { type Component, type FunctionType, shapeOf } from './component-types.ts';
import { expectFewOffered } from './instance-counts.ts';
import { Refused } from './refusal.ts';

/** Calling convention: that of our worlds, or that of the SDK. */
export type Shape = 'own' | 'sdk';

export interface ExportedFunction {
  readonly name: string;
  /** The exported interface that contains it, with its version; absent for a direct export. */
  readonly interface?: string;
  readonly shape: string;
}

export interface Binding {
  /** The function that the host calls for each event, command or request. */
  readonly main: ExportedFunction;
  readonly shape: Shape;
  /** Folds many events in one call. The SDK's `evolve` always does. */
  readonly batch: ExportedFunction | undefined;
  /** Renders the state; without it the state itself is the rendering. */
  readonly query: ExportedFunction | undefined;
}

const SHAPES: Readonly<Record<ComponentKind, readonly (readonly [shape: string, whose: Shape])[]>> = {
  'state-view': [
    ['(list<u8>, list<u8>) -> result<list<u8>, string>', 'own'],
    ['(record, list<record>) -> option<list<u8>>', 'sdk'],
  ],
  'state-change': [
    ['(record) -> result<list<record>, variant>', 'own'],
    ['(own, record, record) -> result<tuple<list<record>, list<variant>>, variant>', 'sdk'],
    ['(borrow, record, record) -> result<tuple<list<record>, list<variant>>, variant>', 'sdk'],
  ],
  presenter: [['(record, list<u8>) -> result<_, variant>', 'own']],
};
const NAMES: Readonly<Record<ComponentKind, string>> = {
  'state-view': 'evolve',
  'state-change': 'decide',
  presenter: 'present',
};
const BATCH_SHAPE = '(list<u8>, list<list<u8>>) -> result<list<u8>, string>';
const QUERY_SHAPE = '(list<u8>, list<u8>) -> result<list<u8>, string>';
/** Maximum number of functions that a message lists. */
const SHOWN_MAX = 10;

/** @throws Refused MissingExport; `name` replaces the function name of the kind. */
export function expectExports(component: Component, kind: ComponentKind, name: string = NAMES[kind]): Binding {
  const exported = exportedFunctions(component);
  const bound = exported.flatMap((main) => {
    const [, shape] = SHAPES[kind].find(([text]) => main.name === name && text === main.shape) ?? [];
    return shape === undefined ? [] : [{ main, shape }];
  });
  const [first, second] = bound;
  if (first === undefined || second !== undefined) throw missing(exported, kind, name);
  if (kind !== 'state-view' || first.shape === 'sdk') return { ...first, batch: undefined, query: undefined };
  return {
    ...first,
    batch: exported.find((other) => other.name === `${name}-many` && other.shape === BATCH_SHAPE),
    query: exported.find((other) => other.name === 'query' && other.shape === QUERY_SHAPE),
  };
}

/** Every function export, direct or in an interface. @throws Refused when there are too many. */
function exportedFunctions({ exports }: Component): readonly ExportedFunction[] {
  let offered = 0;
  for (const item of exports.values()) offered += item.sort === 'instance' ? item.offers.size : 1;
  expectFewOffered(offered, 'exports', 0);
  return [...exports].flatMap(([name, item]): readonly ExportedFunction[] => {
    if (item.sort === 'function') return [exportedAs(name, item.type)];
    if (item.sort !== 'instance') return [];
    return [...item.offers].flatMap(([inner, part]) =>
      part.sort === 'function' ? [{ ...exportedAs(inner, part.type), interface: name }] : [],
    );
  });
}

function exportedAs(name: string, type: FunctionType): ExportedFunction {
  return { name, shape: shapeOf(type) };
}

function missing(exported: readonly ExportedFunction[], kind: ComponentKind, name: string): Refused {
  const wanted = SHAPES[kind].map(([shape]) => `${name}${shape}`).join(', or ');
  const shown = exported.slice(0, SHOWN_MAX).map((found) => `${found.name}${found.shape}`);
  const rest = exported.length > SHOWN_MAX ? ` and ${exported.length - SHOWN_MAX} more` : '';
  const found = shown.length === 0 ? 'no function' : shown.join(', ') + rest;
  return new Refused('MissingExport', 0, `A ${kind} exports one function ${wanted}; this component exports ${found}`);
}

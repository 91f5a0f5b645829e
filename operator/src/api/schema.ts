/**
 * The language in which the custom resources are declared. A kind is declared once; the CustomResourceDefinition, the
 * TypeScript types of types.ts and the reference of the docs follow from it (scripts/crds).
 *
 * A field is required unless it has a default, or its name ends with a question mark, as in TypeScript. Every field
 * has a sentence of documentation, and every text, list and map has a limit: the API server bounds the cost of rules by
 * them.
 */

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** A rule in CEL that the API server checks. One that names `oldSelf` is checked on updates only. */
export interface Rule {
  readonly rule: string;
  /** Error message of the API server when an object breaks the rule. */
  readonly message: string;
}

interface Common {
  readonly doc: string;
  readonly isOptional?: boolean;
  readonly default?: Json | undefined;
  readonly rules?: readonly Rule[] | undefined;
}

type Kinds =
  | {
      readonly kind: 'text';
      readonly max: number;
      readonly min?: number | undefined;
      readonly pattern?: string | undefined;
    }
  /** An instant, as RFC 3339 writes it. */
  | { readonly kind: 'time' }
  | { readonly kind: 'choice'; readonly choices: readonly string[] }
  | { readonly kind: 'number'; readonly min: number; readonly max: number }
  | { readonly kind: 'flag' }
  /** A whole number or a text, such as the quantities of Kubernetes: `2` and `250m`. */
  | { readonly kind: 'number-or-text'; readonly max: number; readonly pattern?: string | undefined }
  | {
      readonly kind: 'list';
      readonly items: Field;
      readonly max: number;
      readonly min?: number | undefined;
      /** Merge strategy of server-side apply: the list as one value, as a set, or by keys of its items. */
      readonly merge: 'atomic' | 'set' | { readonly keys: readonly string[] };
    }
  | { readonly kind: 'map'; readonly values: Field; readonly max: number }
  | { readonly kind: 'object'; readonly shape: Shape }
  /** Any object: nothing of it is known here, and nothing is pruned. */
  | { readonly kind: 'any' };

export type Field = Common & Kinds;
export type ListField = Extract<Field, { readonly kind: 'list' }>;
export type Fields = Readonly<Record<string, Field>>;

/** The fields of an object, under the name of its TypeScript type. */
export interface Shape {
  readonly name: string;
  readonly fields: Fields;
  readonly rules: readonly Rule[];
  /** True when Kubernetes defines it: the reference of the docs does not list its fields. */
  readonly isOfKubernetes: boolean;
}

export interface Column {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'date';
  readonly path: string;
  readonly doc: string;
  /** Shown with `-o wide` only. */
  readonly isWide?: boolean;
}

/** A custom resource. The machinery below knows it by the first three (operator/src/kube). */
export interface ResourceKind {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  readonly shortNames: readonly string[];
  readonly doc: string;
  readonly spec: Shape;
  readonly specDoc: string;
  readonly status: Shape;
  /** Rules that read the name of the object, beside `self.spec`. */
  readonly rules: readonly Rule[];
  /** Condition types of `status.conditions`, each with the meaning of the value `True`. */
  readonly conditions: Readonly<Record<string, string>>;
  readonly columns: readonly Column[];
  readonly scale?: { readonly spec: string; readonly status: string; readonly selector: string };
}

interface Options {
  readonly default?: Json;
  readonly rules?: readonly Rule[];
}

interface Length {
  readonly min?: number;
}

interface Pattern {
  readonly pattern?: string;
}

export function text(doc: string, max: number, options: Options & Length & Pattern = {}): Field {
  return { kind: 'text', doc, max, ...options };
}

export function time(doc: string): Field {
  return { kind: 'time', doc };
}

export function choice(doc: string, choices: readonly string[], options: Options = {}): Field {
  return { kind: 'choice', doc, choices, ...options };
}

export function wholeNumber(doc: string, min: number, max: number, options: Options = {}): Field {
  return { kind: 'number', doc, min, max, ...options };
}

export function flag(doc: string, options: Options = {}): Field {
  return { kind: 'flag', doc, ...options };
}

export function numberOrText(doc: string, max: number, options: Options & Pattern = {}): Field {
  return { kind: 'number-or-text', doc, max, ...options };
}

export function list(
  doc: string,
  items: Field,
  max: number,
  { merge = 'atomic', ...options }: Options & Length & Partial<Pick<ListField, 'merge'>> = {},
): Field {
  return { kind: 'list', doc, items, max, merge, ...options };
}

export function map(doc: string, values: Field, max: number, options: Options = {}): Field {
  return { kind: 'map', doc, values, max, ...options };
}

export function object(doc: string, ofShape: Shape, options: Options = {}): Field {
  return { kind: 'object', doc, shape: ofShape, ...options };
}

export function anyObject(doc: string): Field {
  return { kind: 'any', doc };
}

export function shape(name: string, fields: Fields, rules: readonly Rule[] = []): Shape {
  return { name, fields: declared(fields), rules, isOfKubernetes: false };
}

/** Declares a subset of a type of the Kubernetes API, such as a toleration. */
export function shapeOfKubernetes(name: string, fields: Fields): Shape {
  return { name, fields: declared(fields), rules: [], isOfKubernetes: true };
}

function declared(fields: Fields): Fields {
  const named = Object.entries(fields).map(([name, field]): [string, Field] =>
    name.endsWith('?') ? [name.slice(0, -1), { ...field, isOptional: true }] : [name, field],
  );
  return Object.fromEntries(named);
}

/** Returns true when the API server refuses an object without the field. */
export function isRequired({ isOptional = false, default: ownDefault }: Field): boolean {
  return !isOptional && ownDefault === undefined;
}

export function column(name: string, path: string, doc: string, more: Partial<Column> = {}): Column {
  return { name, type: 'string', path, doc, ...more };
}

export function exactlyOne(...names: readonly string[]): Rule {
  return { rule: `${countOf(names)} == 1`, message: `set exactly one of ${inWords(names, 'and')}` };
}

export function atLeastOne(...names: readonly string[]): Rule {
  return { rule: `${countOf(names)} >= 1`, message: `set ${inWords(names, 'or')}` };
}

export function atMostOne(...names: readonly string[]): Rule {
  return { rule: `${countOf(names)} <= 1`, message: `set at most one of ${inWords(names, 'and')}` };
}

/** A field of its own does not change once the object is there. It may be optional. */
export function immutable(name: string): Rule {
  return {
    rule: `has(self.${name}) == has(oldSelf.${name}) && (!has(self.${name}) || self.${name} == oldSelf.${name})`,
    message: `${name} cannot be changed later: set what it was`,
  };
}

function countOf(names: readonly string[]): string {
  return `[${names.map((name) => `has(self.${name})`).join(', ')}].filter(isSet, isSet).size()`;
}

function inWords(names: readonly string[], word: string): string {
  return `${names.slice(0, -1).join(', ')} ${word} ${names.at(-1)}`;
}

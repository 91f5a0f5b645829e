/**
 * Values as words, by schemas that are total: a schema of a record has a line for each of its fields, and one of a
 * union a record for each of its kinds, so that a field or kind without its line does not compile. A line either
 * writes the field, or excuses it by a sentence why nothing depends on it.
 *
 * What is written is free of prefixes (lists carry their length, absence a mark of its own), so that two values with
 * the same words are the same value. Replicas are written under the names that a permutation gives them.
 */
import type { ReplicaId } from '#raft';

export interface Words {
  /** The name of replica n stands at n. */
  readonly names: readonly number[];
  readonly out: number[];
}

export type Writer<T> = (value: T, words: Words) => void;

interface Excused {
  /** Why no step and no check depends on it. */
  readonly excused: string;
}

export type Schema<T> = { readonly [Field in keyof Required<T>]: Writer<T[Field]> | Excused };

const ABSENT = -1;

export const number: Writer<number> = (value, { out }) => {
  out.push(value);
};

export const boolean: Writer<boolean> = (value, { out }) => {
  out.push(value ? 1 : 0);
};

export const replica: Writer<ReplicaId> = (value, { names, out }) => {
  out.push(names[value] ?? value);
};

export const bytes: Writer<Uint8Array> = (value, { out }) => {
  out.push(value.length, ...value);
};

export function excused(why: string): Excused {
  return { excused: why };
}

export function optional<T>(write: Writer<T>): Writer<T | undefined> {
  return (value, words) => {
    if (value === undefined) words.out.push(ABSENT);
    else {
      words.out.push(1);
      write(value, words);
    }
  };
}

export function list<T>(write: Writer<T>): Writer<readonly T[]> {
  return (values, words) => {
    words.out.push(values.length);
    for (const value of values) write(value, words);
  };
}

/** Values in no order. */
export function unordered<T>(write: Writer<T>): Writer<Iterable<T>> {
  return (values, words) => {
    const each = Array.from(values, (value) => {
      const own: Words = { names: words.names, out: [] };
      write(value, own);
      return own.out;
    });
    each.sort(compare);
    words.out.push(each.length);
    for (const own of each) words.out.push(own.length, ...own);
  };
}

export function pair<A, B>(first: Writer<A>, second: Writer<B>): Writer<readonly [A, B]> {
  return ([one, other], words) => {
    first(one, words);
    second(other, words);
  };
}

/** The fields in the order of the schema. */
export function record<T extends object>(schema: Schema<T>): Writer<T> {
  const fields = Object.entries<Writer<never> | Excused>(schema);
  const writers = fields.flatMap(([name, line]) =>
    typeof line === 'function' ? [{ name: name as keyof T, write: line as Writer<T[keyof T]> }] : [],
  );
  return (value, words) => {
    for (const { name, write } of writers) write(value[name], words);
  };
}

export function union<T extends { readonly kind: string }>(
  schemas: {
    readonly [Kind in T['kind']]: Schema<Extract<T, { readonly kind: Kind }>>;
  },
): Writer<T> {
  const kinds = Object.keys(schemas) as T['kind'][];
  const writers = new Map(kinds.map((kind, at) => [kind, { at, write: record(schemas[kind]) as Writer<T> }]));
  return (value, words) => {
    const known = writers.get(value.kind);
    if (known === undefined) throw new Error(`The key knows no kind "${value.kind}"`);
    words.out.push(known.at);
    known.write(value, words);
  };
}

/** Every union writes its kind itself. */
export const KIND: Excused = excused('the union writes it');

function compare(one: readonly number[], other: readonly number[]): number {
  if (one.length !== other.length) return one.length - other.length;
  for (let at = 0; at < one.length; at += 1) {
    const difference = (one[at] ?? 0) - (other[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

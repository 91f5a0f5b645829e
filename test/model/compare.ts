/** Compares an answer with the right one. */
import type { Answer } from './model/vocabulary.ts';

/** Errors of requests that were evaluated in a database, so they name the instance and revision. */
const FOUND_IN_DATABASE = /NotFound$|^constraint_violated$/;

/** Returns one line for each different member. */
export function differences(right: Answer, seen: Answer): readonly string[] {
  if (right.error !== seen.error) return [`right: ${show(right)}`, `seen:  ${show(seen)}`];
  const { error = 'TransactionNotFound' } = right;
  const isScoped = seen.isUnscoped !== true && FOUND_IN_DATABASE.test(error) && error !== 'DatabaseNotFound';
  const names = isScoped ? (['databaseId', 'revision'] as const) : [];
  const compared = ['violations', 'events', 'hasMore', 'names', 'mappings', ...names] as const;
  const lines = compared.flatMap((name) => differing(name, right[name], seen[name]));
  // An interface may lack a member, and some members of a new transaction are only known to the server.
  const members = Object.keys(right.members ?? {}).filter((name) => seen.members?.[name] !== undefined);
  return [...lines, ...members.flatMap((name) => differing(name, right.members?.[name], seen.members?.[name]))];
}

function differing(name: string, right: unknown, seen: unknown): readonly string[] {
  const [wanted, found] = [show(right), show(seen)];
  return wanted === found ? [] : [`right ${name}: ${wanted}`, `seen  ${name}: ${found}`];
}

/** JSON with members sorted by name. */
export function show(value: unknown): string {
  return (
    JSON.stringify(value, (_, each: unknown) => {
      if (typeof each === 'bigint') return String(each);
      if (typeof each !== 'object' || each === null || Array.isArray(each)) return each;
      return Object.fromEntries(Object.entries(each).toSorted(([left], [right]) => (left < right ? -1 : 1)));
    }) ?? 'nothing'
  );
}

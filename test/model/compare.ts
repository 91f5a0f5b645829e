/** Whether the answer that came is the right one. */
import type { Answer } from './model/vocabulary.ts';

/** Failures that were found in a database, which say in which and where. */
const FOUND_IN_DATABASE = /NotFound$|^constraint_violated$/;

/** One line for each member that differs. */
export function differences(right: Answer, seen: Answer): readonly string[] {
  if (right.error !== seen.error) return [`right: ${show(right)}`, `seen:  ${show(seen)}`];
  const { error = 'TransactionNotFound' } = right;
  const isScoped = seen.isUnscoped !== true && FOUND_IN_DATABASE.test(error) && error !== 'DatabaseNotFound';
  const names = isScoped ? (['databaseId', 'revision'] as const) : [];
  const compared = ['violations', 'events', 'hasMore', 'names', 'mappings', ...names] as const;
  const lines = compared.flatMap((name) => differing(name, right[name], seen[name]));
  // An interface may lack a member, and only a server knows some of a new transaction.
  const members = Object.keys(right.members ?? {}).filter((name) => seen.members?.[name] !== undefined);
  return [...lines, ...members.flatMap((name) => differing(name, right.members?.[name], seen.members?.[name]))];
}

function differing(name: string, right: unknown, seen: unknown): readonly string[] {
  const [wanted, found] = [show(right), show(seen)];
  return wanted === found ? [] : [`right ${name}: ${wanted}`, `seen  ${name}: ${found}`];
}

/** Members in the order of their names. */
export function show(value: unknown): string {
  return (
    JSON.stringify(value, (_, each: unknown) => {
      if (typeof each === 'bigint') return String(each);
      if (typeof each !== 'object' || each === null || Array.isArray(each)) return each;
      return Object.fromEntries(Object.entries(each).toSorted(([left], [right]) => (left < right ? -1 : 1)));
    }) ?? 'nothing'
  );
}

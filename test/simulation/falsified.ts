/** The evidence of a good run, and functions that falsify it slightly, for tests of the checks. */
import { checkAll } from './checks/all.ts';
import { Evidence, type FinalDatabase } from './checks/evidence.ts';
import type { AnyOperation, CallKind, History, Operation, TransactionSeen } from './history.ts';
import { type RunOptions, runSeed } from './scenario.ts';

/** A seed with transactions of every outcome, queries, subscriptions, and a database that survives. */
const SEED = 24;

/** The evidence of the run. */
export const goodEvidence = (): Promise<Evidence> => evidenceOf(SEED, { nodes: 1 });

export async function evidenceOf(seed: number, options: RunOptions): Promise<Evidence> {
  const { problems, evidence } = await runSeed(seed, options);
  if (evidence === undefined || problems.length > 0) throw new Error(`The seed goes well, not: ${problems.join('; ')}`);
  return evidence;
}

export interface Change {
  readonly finals?: (final: FinalDatabase) => FinalDatabase;
  readonly history?: (history: History) => void;
}

export function inHistory(history: (history: History) => void): Change {
  return { history };
}

/** The faults in the changed evidence. */
export function faultsOf(good: Evidence, change: Change): string {
  const history = structuredCopy(good.history);
  change.history?.(history);
  const finals = good.finals.map(change.finals ?? ((final) => final));
  const { faults, undecided } = checkAll(new Evidence(history, finals));
  return [...faults, ...undecided].join('\n');
}

function structuredCopy(history: History): History {
  const { operations, subscriptions, recoveries, refoundings } = history;
  const copy = structuredClone({ operations, subscriptions, recoveries, refoundings });
  return Object.assign(Object.create(Object.getPrototypeOf(history) as object) as History, copy);
}

type Ok<Kind extends CallKind> = Extract<Operation<Kind>['outcome'], { readonly kind: 'ok' }>['value'];

/** The successful operations of a kind, which can be falsified in place. */
export function succeeded<Kind extends CallKind>(
  history: History,
  kind: Kind,
): readonly { operation: AnyOperation; value: Ok<Kind> }[] {
  return history.of(kind).flatMap((operation) => {
    const { outcome } = operation;
    return outcome.kind === 'ok' ? [{ operation: operation as unknown as AnyOperation, value: outcome.value }] : [];
  });
}

export function first<Item>(items: readonly Item[]): Item {
  const [item] = items;
  if (item === undefined) throw new Error('The seed has what the test falsifies');
  return item;
}

/** Values of the history are read-only for the checks; tests falsify them with this function. */
export function falsify<Value extends object>(value: Value, by: Partial<Record<keyof Value, unknown>>): void {
  Object.assign(value, by);
}

export function inLog(
  change: (transactions: TransactionSeen[]) => readonly TransactionSeen[],
): (final: FinalDatabase) => FinalDatabase {
  return (final) => ({ ...final, transactions: change([...final.transactions]) });
}

// Check 11: each name of the catalog behaves like a linearizable register. Creates, deletes, transactions, latest
// reads, and every answer that a name does not exist fit one order; a delete with the id of another instance deletes
// nothing.
//
// Other reads return what the node has. A delete that is decided but not yet acknowledged may already be visible to
// some clients, by an error or by a list without the name, while others still get answers from the instance (V12 of
// #service). But after an acknowledged delete, the answer that there was nothing to delete, or the acknowledged
// creation of the next instance, no node answers from the old instance, and its subscriptions end. The same holds some
// time after the first answer that the name does not exist: a missing instance does not return.
import type { AnyOperation, Calls, History, Scope } from '../history.ts';
import type { Check, Judgement } from './check.ts';
import { type Evidence, label, scopesOf } from './evidence.ts';
import { linearize, type Step } from './linearizable.ts';

/** The bound instance: none, its id, or an instance whose creation had no answer and whose id is learned later. */
type Bound = string;
const ABSENT: Bound = 'absent';
const SOMETHING: Bound = 'something';

/** Checks each name for such an order; `undecided` lists names for which the search took too long. */
export function judgeNames({ history, finals }: Evidence): Judgement {
  const { operations } = history;
  const known = new Set(
    history.of('create').flatMap(({ outcome }) => (outcome.kind === 'ok' ? [outcome.value.databaseId] : [])),
  );
  const names = new Set([...operations.flatMap(nameOf), ...finals.map(({ name }) => name)]);
  const faults: string[] = [];
  const undecided: string[] = [];
  for (const name of names) {
    const isDeciding = deletionsOf(history, name);
    const judged = operations.filter((each) => !(denies(each, name) && isDeciding(each)));
    const steps = judged.flatMap((operation) => stepOf(operation, name, known) ?? []);
    const verdict = linearize(steps, ABSENT);
    if (verdict === 'undecided') undecided.push(`whether what happened to ${name} fits one order`);
    else if (verdict !== 'linearizable') {
      faults.push(`no order of what happened to ${name} explains ${verdict.stuckAt}`);
    }
  }
  return { faults, undecided };
}

/** Time after which an unacknowledged deletion has been applied and all leases from before it have expired. */
const PAST_US = 20_000_000;

/** Returns whether an operation overlaps a deletion of the name that may have found something. */
function deletionsOf(history: History, name: string): (operation: AnyOperation) => boolean {
  const spans = history
    .of('delete')
    .filter(({ request, outcome }) => request.name === name && mayDelete(outcome))
    .map(({ invokedUs, returnedUs }) => ({ fromUs: invokedUs, toUs: Math.min(returnedUs, invokedUs + PAST_US) }));
  return ({ invokedUs, returnedUs }) => spans.some(({ fromUs, toUs }) => fromUs < returnedUs && toUs > invokedUs);
}

function mayDelete(outcome: DeleteOutcome): boolean {
  if (outcome.kind === 'ok') return outcome.value.databaseId !== undefined;
  return outcome.kind !== 'error' || !outcome.isDefinite;
}

function isReading({ kind }: AnyOperation): boolean {
  return kind !== 'create' && kind !== 'delete';
}

/** True when the operation reported the name as missing to a reader, by an error or by a list without it. */
function denies(operation: AnyOperation, name: string): boolean {
  const { kind, outcome } = operation;
  if (kind === 'list') return outcome.kind === 'ok' && outcome.value.every((listed) => listed.name !== name);
  return isReading(operation) && isAbsent(outcome);
}

/** Time after the decision of a deletion within which all leases from before it expire, on any clock. */
const DENIED_US = 11_000_000;
/** Time in which messages to a subscriber may still arrive, also from a process that was suspended. */
const ON_ITS_WAY_US = 10_000_000;

export const oldInstancesAreSilent: Check = ({ history }) => {
  const endedUs = endsOf(history);
  const endOf = ({ databaseId }: Scope): number => endedUs.get(databaseId) ?? Number.POSITIVE_INFINITY;
  const answers = history.operations.flatMap((operation) =>
    scopesOf(operation)
      .filter((scope) => endOf(scope) < operation.invokedUs)
      .map(({ databaseId }) => `${label(operation)} is answered from ${databaseId}, which was gone`),
  );
  const subscriptions = history.subscriptions.flatMap(({ scope, client, number, invokedUs, items }) => {
    if (scope === undefined) return [];
    const what = `subscription #${number} of ${client}`;
    if (endOf(scope) < invokedUs) return [`${what} begins with ${scope.databaseId}, which was gone`];
    const late = items.find(({ atUs }) => atUs > endOf(scope) + ON_ITS_WAY_US);
    return late === undefined ? [] : [`${what} goes on with ${scope.databaseId}, which is gone for long`];
  });
  return [...answers, ...subscriptions];
};

/** For each instance, the time from which it was known to be deleted. */
function endsOf(history: History): ReadonlyMap<string, number> {
  const endedUs = new Map<string, number>();
  const end = (databaseId: string, atUs: number): void => {
    endedUs.set(databaseId, Math.min(endedUs.get(databaseId) ?? Number.POSITIVE_INFINITY, atUs));
  };
  const creates = history.of('create');
  /** Marks all instances that were created under the name before as deleted. */
  const endAll = (name: string, invokedUs: number, atUs: number): void => {
    for (const { request, outcome, returnedUs } of creates) {
      if (request.name === name && returnedUs < invokedUs && outcome.kind === 'ok') end(outcome.value.databaseId, atUs);
    }
  };
  for (const { request, outcome, invokedUs, returnedUs } of history.of('delete')) {
    const deleted = outcome.kind === 'ok' ? (outcome.value.databaseId ?? request.databaseId) : undefined;
    if (deleted !== undefined) end(deleted, returnedUs);
    if (isAbsent(outcome)) endAll(request.name, invokedUs, returnedUs);
  }
  for (const { request, outcome, invokedUs, returnedUs } of creates) {
    if (outcome.kind === 'ok') endAll(request.name, invokedUs, returnedUs);
  }
  for (const operation of history.operations) {
    for (const name of deniedBy(operation, history)) {
      endAll(name, operation.invokedUs, operation.returnedUs + DENIED_US);
    }
  }
  return endedUs;
}

/** Names that the operation reported as missing to a reader. */
function deniedBy(operation: AnyOperation, history: History): readonly string[] {
  const { kind, outcome } = operation;
  if (kind === 'list' && outcome.kind === 'ok') {
    const listed = new Set(outcome.value.map(({ name }) => name));
    return history.of('create').flatMap(({ request }) => (listed.has(request.name) ? [] : [request.name]));
  }
  return isReading(operation) && isAbsent(outcome) ? nameOf(operation) : [];
}

function nameOf({ request }: AnyOperation): readonly string[] {
  return 'name' in request ? [request.name] : [];
}

/** Effect of the operation on the name; undefined without one. */
function stepOf(operation: AnyOperation, name: string, known: ReadonlySet<string>): Step<Bound> | undefined {
  const effect = effectOf(operation, name, known);
  if (effect === undefined) return undefined;
  const { invokedUs, returnedUs } = operation;
  return {
    name: () => `${label(operation)} → ${JSON.stringify(operation.outcome).slice(0, 200)}`,
    invokedUs,
    returnedUs: isUndecided(operation) ? Number.POSITIVE_INFINITY : returnedUs,
    ...effect,
  };
}

/** An indefinite failure gives no information: the change may happen later or never. */
function isUndecided({ kind, outcome }: AnyOperation): boolean {
  if ((kind !== 'create' && kind !== 'delete') || outcome.kind !== 'error' || outcome.isDefinite) return false;
  return !isAbsent(outcome) && outcome.code !== 'already_exists';
}

type Effect = Pick<Step<Bound>, 'apply' | 'isRead' | 'effect'>;

function effectOf(operation: AnyOperation, name: string, known: ReadonlySet<string>): Effect | undefined {
  const { kind, outcome, request } = operation;
  if (kind === 'list') {
    if (outcome.kind !== 'ok') return undefined;
    return denies(operation, name) ? observes(undefined, known) : undefined;
  }
  if (nameOf(operation)[0] !== name) return undefined;
  if (kind === 'create') return createEffect(outcome);
  if (kind === 'delete') return deleteEffect(request, outcome, known);
  if (outcome.kind === 'ok') {
    return asksTheLeader(operation) ? observes(outcome.value.databaseId, known) : undefined;
  }
  return isAbsent(outcome) ? observes(undefined, known) : undefined;
}

type DeleteOutcome = Extract<AnyOperation, { readonly kind: 'delete' }>['outcome'];
type CreateOutcome = Extract<AnyOperation, { readonly kind: 'create' }>['outcome'];

function createEffect(outcome: CreateOutcome): Effect | undefined {
  if (outcome.kind === 'ok') {
    const { databaseId } = outcome.value;
    return { apply: (state) => (state === ABSENT ? databaseId : undefined) };
  }
  if (outcome.kind === 'error' && outcome.code === 'already_exists') {
    return { apply: (state) => (state === ABSENT ? undefined : state), isRead: true };
  }
  if (outcome.kind === 'error' && outcome.isDefinite) return undefined;
  // The creation may have found the name taken.
  return { apply: (state) => (state === ABSENT ? SOMETHING : state), effect: 'create' };
}

function deleteEffect(
  { databaseId: wanted }: Calls['delete']['request'],
  outcome: AnyOperation['outcome'],
  known: ReadonlySet<string>,
): Effect | undefined {
  if (outcome.kind === 'ok') {
    const { databaseId } = outcome.value as Calls['delete']['value'];
    // A delete with an id deletes that instance or nothing.
    if (databaseId !== undefined && wanted !== undefined && databaseId !== wanted) return { apply: () => undefined };
    if (databaseId !== undefined) return { apply: (state) => (is(state, databaseId, known) ? ABSENT : undefined) };
    return { apply: (state) => (state === wanted ? undefined : state), isRead: true };
  }
  if (isAbsent(outcome)) return observes(undefined, known);
  if (outcome.kind === 'error' && outcome.isDefinite) return undefined;
  if (wanted === undefined) return { apply: () => ABSENT, effect: 'delete' };
  return { apply: (state) => (is(state, wanted, known) ? ABSENT : state), effect: `delete ${wanted}` };
}

function observes(databaseId: string | undefined, known: ReadonlySet<string>): Effect {
  if (databaseId === undefined) return { apply: (state) => (state === ABSENT ? state : undefined), isRead: true };
  return { apply: (state) => (is(state, databaseId, known) ? databaseId : undefined), isRead: true };
}

/** An instance whose creation had no answer has any id that no other creation returned. */
function is(state: Bound, databaseId: string, known: ReadonlySet<string>): boolean {
  return state === databaseId || (state === SOMETHING && !known.has(databaseId));
}

function asksTheLeader({ kind, request }: AnyOperation): boolean {
  return kind === 'transact' || kind === 'fetch' || kind === 'log' || ('at' in request && request.at === 'latest');
}

function isAbsent(outcome: AnyOperation['outcome']): boolean {
  return outcome.kind === 'error' && outcome.code === 'not_found' && outcome.reason === 'DatabaseNotFound';
}

// Check 7: a read at a revision always has the same answer, which is that of the model. For deleted instances, which
// the model does not know, equal queries must have equal answers.
import type { AnyOperation, Calls, Operation } from '../history.ts';
import { type Check, isSame, shown } from './check.ts';
import { type Instance, label } from './evidence.ts';

export const readsAgreeWithTheModel: Check = (evidence) =>
  evidence.history.operations.flatMap((operation) => {
    const { outcome } = operation;
    if (outcome.kind !== 'ok' || !('databaseId' in outcome.value) || !('revision' in outcome.value)) return [];
    const { databaseId, revision } = outcome.value;
    const instance = evidence.instances.get(databaseId);
    if (instance?.covers(revision) !== true) return [];
    const expected = expectedOf(operation, instance);
    if (expected === undefined) return [];
    return isSame(expected.wanted, expected.found)
      ? []
      : [
          `${label(operation)} of ${databaseId} at ${revision} answers ${shown(expected.found)} instead of ${shown(expected.wanted)}`,
        ];
  });

export const equalQuestionsHaveEqualAnswers: Check = ({ history }) => {
  const answers = new Map<string, { readonly by: string; readonly events: unknown }>();
  return history.of('query').flatMap((operation) => {
    if (operation.outcome.kind !== 'ok') return [];
    const { databaseId, revision, events } = operation.outcome.value;
    const question = JSON.stringify([databaseId, revision, operation.request.query]);
    const first = answers.get(question) ?? { by: label(operation), events };
    answers.set(question, first);
    return isSame(first.events, events)
      ? []
      : [`${first.by} and ${label(operation)} have different answers: ${question}`];
  });
};

interface Expectation {
  readonly wanted: unknown;
  readonly found: unknown;
}

type Succeeded<Kind extends keyof Calls> = Extract<Operation<Kind>['outcome'], { readonly kind: 'ok' }>['value'];

function expectedOf(operation: AnyOperation, instance: Instance): Expectation | undefined {
  const { kind, request, outcome } = operation;
  if (outcome.kind !== 'ok') return undefined;
  switch (kind) {
    case 'query': {
      const { events, revision } = outcome.value;
      return { wanted: instance.model.query(request.query, revision), found: events };
    }
    case 'describe':
    case 'asOf':
      return description(outcome.value, instance);
    case 'event': {
      const { event, revision } = outcome.value;
      const { stream, id } = request;
      return { wanted: findEvent(instance, revision, { stream, id }), found: event };
    }
    case 'names': {
      const { names, revision } = outcome.value;
      return { wanted: instance.model.names(request.of, revision), found: names };
    }
    case 'fetch': {
      const { transaction } = outcome.value;
      return { wanted: instance.final?.transactions[transaction.revision - 1], found: transaction };
    }
    case 'log':
      return logSlice(request, outcome.value, instance);
    case 'transact':
    case 'create':
    case 'delete':
    case 'list':
    case 'await':
      return undefined;
  }
}

function description(value: Succeeded<'describe'>, { final, model }: Instance): Expectation {
  const { revision, createdAtMs, basis, revisionTimeMs, eventCount, chainHash } = value;
  const transaction = final?.transactions[revision - 1];
  return {
    wanted: {
      createdAtMs: final?.createdAtMs,
      basis: Math.max(0, revision - 1),
      revisionTimeMs: transaction?.recordedTimeMs ?? createdAtMs,
      eventCount: model.events(revision).length,
      chainHash: transaction?.chainHash ?? chainHash,
    },
    found: { createdAtMs, basis, revisionTimeMs, eventCount, chainHash },
  };
}

function logSlice(request: Calls['log']['request'], value: Succeeded<'log'>, { final }: Instance): Expectation {
  const { start, direction, limit } = request;
  const upTo = (final?.transactions ?? []).slice(0, value.revision);
  const isForward = direction === 'forward';
  const ordered = isForward ? upTo : upTo.toReversed();
  const inRange = ordered.filter(({ revision }) => start === 0 || (isForward ? revision >= start : revision <= start));
  return { wanted: inRange.slice(0, limit === 0 ? undefined : limit), found: value.transactions };
}

export function findEvent(
  instance: Instance,
  revision: number,
  { stream, id }: { readonly stream: string; readonly id: string },
): unknown {
  return instance.model.events(revision).find((event) => event.stream === stream && event.id === id);
}

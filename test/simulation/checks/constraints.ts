// Check 4: commits and refusals were correct. The model evaluates the constraints again at the revision at which the
// node evaluated them.
import { type Check, forInstances, isSame, shown } from './check.ts';
import { label } from './evidence.ts';

export const commitsHoldTheirConstraints: Check = (evidence) =>
  forInstances(evidence, ({ final, model }) =>
    (final?.transactions ?? []).flatMap(({ revision, transactionId }) => {
      // All attempts of a transaction have the same constraints.
      const constraints = evidence.attempts.get(transactionId)?.[0]?.request.constraints ?? [];
      const violations = model.violations(constraints, revision - 1);
      return violations.length === 0
        ? []
        : [`revision ${revision} was committed against ${shown(constraints)}: ${shown(violations)}`];
    }),
  );

export const refusalsAreRight: Check = ({ history, instances }) =>
  history.of('transact').flatMap((operation) => {
    const { outcome, request } = operation;
    // Clients use too few names and events for this error.
    if (outcome.kind === 'error' && outcome.reason === 'ConstraintTooBroad')
      return [`${label(operation)} is too broad`];
    if (outcome.kind !== 'ok' || outcome.value.kind !== 'refused') return [];
    const { databaseId, revision, violations } = outcome.value;
    const instance = instances.get(databaseId);
    if (instance?.covers(revision) !== true) return [];
    const recorded = instance.final?.transactions.find(({ transactionId }) => transactionId === request.transactionId);
    if (recorded !== undefined && recorded.revision <= revision) {
      return [`${label(operation)} was refused at ${revision} although it is recorded at ${recorded.revision}`];
    }
    const expected = instance.model.violations(request.constraints, revision);
    return isSame(expected, violations)
      ? []
      : [`${label(operation)} was refused at ${revision} for ${shown(violations)} instead of ${shown(expected)}`];
  });

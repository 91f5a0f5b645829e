/** Label selectors, as Kubernetes evaluates them. */
import type { StateViewSpec } from '../api/index.ts';

type LabelSelector = NonNullable<StateViewSpec['databases']['selector']>;

export function matches(
  { matchLabels = {}, matchExpressions = [] }: LabelSelector,
  labels: Readonly<Record<string, string>> = {},
): boolean {
  const hasLabels = Object.entries(matchLabels).every(([key, value]) => labels[key] === value);
  return hasLabels && matchExpressions.every((requirement) => meets(requirement, labels[requirement.key]));
}

function meets(
  { operator, values = [] }: NonNullable<LabelSelector['matchExpressions']>[number],
  value: string | undefined,
): boolean {
  if (operator === 'Exists' || operator === 'DoesNotExist') return (value !== undefined) === (operator === 'Exists');
  return (value !== undefined && values.includes(value)) === (operator === 'In');
}

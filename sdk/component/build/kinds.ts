/** The kinds of components, and the facts about each that a build needs. */
export type Kind = 'state-view' | 'state-change' | 'presenter';

export const KINDS: readonly Kind[] = ['state-view', 'state-change', 'presenter'];

export function isKind(value: unknown): value is Kind {
  return KINDS.some((kind) => kind === value);
}

/** The kinds of components, and what is to be known of a module to make one of it. */
export type Kind = 'state-view' | 'state-change' | 'presenter';

export const KINDS: readonly Kind[] = ['state-view', 'state-change', 'presenter'];

export function isKind(value: unknown): value is Kind {
  return KINDS.some((kind) => kind === value);
}

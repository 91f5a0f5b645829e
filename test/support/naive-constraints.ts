// The meaning of each kind of selector and constraint in one line, for models and oracles. It is based on the
// specification and its decisions, and shares only types with the production code.
import type { Constraint, Selector } from '#model';

export interface NaiveEvent {
  readonly source: string;
  /** Stream of the source. */
  readonly stream: string;
  readonly type: string;
  readonly subject?: string | undefined;
}

export function matches(selector: Selector, event: NaiveEvent): boolean {
  switch (selector.kind) {
    case 'all':
      return true;
    case 'no-subject':
      return event.subject === undefined;
    case 'and':
      return selector.selectors.every((part) => matches(part, event));
    case 'or':
      return selector.selectors.some((part) => matches(part, event));
    case 'by-stream':
      return event.stream === selector.value;
    case 'by-stream-prefix':
      return event.stream.startsWith(selector.value);
    case 'by-type':
      return event.type === selector.value;
    case 'by-type-prefix':
      return event.type.startsWith(selector.value);
    case 'by-subject':
      return event.subject === selector.value;
    case 'by-subject-prefix':
      return event.subject?.startsWith(selector.value) ?? false;
    case 'by-source':
      return event.source === selector.value;
  }
}

/** The table of SPEC-CONSTRAINTS (docs/spec/model.md); `latest` is L. */
export function holds(constraint: Constraint, latest: number): boolean {
  const hasSelector = constraint.selector !== undefined;
  switch (constraint.kind) {
    case 'min-revision':
      return hasSelector ? latest >= constraint.revision : latest === constraint.revision;
    case 'max-revision':
      return latest <= constraint.revision;
    case 'revision-range':
      return hasSelector ? constraint.start <= latest && latest <= constraint.end : constraint.end <= latest;
  }
}

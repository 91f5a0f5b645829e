/** Parameters that filter a list of events, combined by AND, for forms and typed URLs. `q` has full queries. */
import { and, type EventQuery, Faults, parseName, type Selector, type TermKind, term } from '#model';
import { invalidField } from './errors.ts';
import { parseRevision, type QueryParameters } from './query-string.ts';

export interface ListedAttribute {
  /** Parameter of the path, and member of the reply. */
  readonly name: string;
  /** Parameter of the list of all events. */
  readonly filter: string;
  readonly kind: TermKind;
  /** Reason of the error when no event has the value. */
  readonly absent: string;
}

export const LISTED_ATTRIBUTES: readonly ListedAttribute[] = [
  { name: 'stream', filter: 'stream', kind: 'by-stream', absent: 'StreamNotFound' },
  { name: 'subject', filter: 'subject', kind: 'by-subject', absent: 'SubjectNotFound' },
  { name: 'event_type', filter: 'type', kind: 'by-type', absent: 'EventTypeNotFound' },
];
const RANGE = ['start', 'end'] as const;

export const FILTER_PARAMETERS: readonly string[] = [...LISTED_ATTRIBUTES.map(({ filter }) => filter), ...RANGE];

/** The filters of a request without the range, as a query string. */
export function filtersIn(parameters: QueryParameters): string {
  const given = LISTED_ATTRIBUTES.flatMap(({ filter }) => {
    const text = parameters.get(filter);
    return text === undefined ? [] : [[filter, text] as const];
  });
  return new URLSearchParams(Object.fromEntries(given)).toString();
}

/** Selects the events that match all filters, from revision `start` to `end` inclusive. */
export function filterFrom(parameters: QueryParameters): Pick<EventQuery, 'selector' | 'revisions'> {
  const faults = new Faults();
  const terms = LISTED_ATTRIBUTES.flatMap(({ filter, kind }): readonly Selector[] => {
    const text = parameters.get(filter);
    const value = text === undefined ? undefined : parseName(text, filter, faults);
    return value === undefined ? [] : [term(kind, value)];
  });
  if (!faults.none) throw faults.toError('The query is malformed');
  const [start, end] = RANGE.map((name) => {
    const text = parameters.get(name);
    return text === undefined ? undefined : parseRevision(name, text);
  });
  if (start !== undefined && end !== undefined && start > end) {
    throw invalidField('end', `must not be before start, which is ${start}`, end);
  }
  return { selector: and(terms), revisions: { start, end } };
}

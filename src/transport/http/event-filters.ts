/** Parameters that filter a list of events, combined by AND, for forms and typed URLs. `q` has full queries. */
import {
  ALL,
  and,
  type EventQuery,
  Faults,
  parseEventType,
  parseStreamName,
  parseSubject,
  type Selector,
  type TermKind,
  term,
} from '#model';
import { invalidField } from './errors.ts';
import { parseRevision, type QueryParameters } from './query-string.ts';

const TERMS: readonly {
  readonly name: string;
  readonly kind: TermKind;
  readonly parse: (text: string, field: string, faults: Faults) => string | undefined;
}[] = [
  { name: 'stream', kind: 'by-stream', parse: parseStreamName },
  { name: 'subject', kind: 'by-subject', parse: parseSubject },
  { name: 'type', kind: 'by-type', parse: parseEventType },
];
const RANGE = ['start', 'end'] as const;

export const FILTER_PARAMETERS: readonly string[] = [...TERMS.map(({ name }) => name), ...RANGE];

/** The filters of a request without the range, as a query string. */
export function filtersIn(parameters: QueryParameters): string {
  const given = TERMS.flatMap(({ name }) => {
    const text = parameters.get(name);
    return text === undefined ? [] : [[name, text] as const];
  });
  return new URLSearchParams(Object.fromEntries(given)).toString();
}

/** Selects the events that match all filters, from revision `start` to `end` inclusive. */
export function filterFrom(parameters: QueryParameters): Pick<EventQuery, 'selector' | 'revisions'> {
  const faults = new Faults();
  const terms = TERMS.flatMap(({ name, kind, parse }): readonly Selector[] => {
    const text = parameters.get(name);
    const value = text === undefined ? undefined : parse(text, name, faults);
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
  const [only] = terms;
  return {
    selector: only === undefined ? ALL : terms.length === 1 ? only : and(terms),
    revisions: { ...(start === undefined ? {} : { start }), ...(end === undefined ? {} : { end }) },
  };
}

/**
 * What a list of events is narrowed down to by parameters of its own, each of which must hold: for forms and for
 * whoever types a URL. `q` says all that a query can.
 */
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

/** Those that are given, but for the range, as a query string. */
export function filtersIn(parameters: QueryParameters): string {
  const given = TERMS.flatMap(({ name }) => {
    const text = parameters.get(name);
    return text === undefined ? [] : [[name, text] as const];
  });
  return new URLSearchParams(Object.fromEntries(given)).toString();
}

/** The events that have all of these, from the revision `start` to `end`, both inclusive. */
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

// A simple model of a database: a list of transactions, and loops over their events. It is based on the specification
// and its decisions, and shares only types of selectors, constraints and queries with the node.
import type { Constraint, EventQuery, Selector } from '#model';
import { holds, matches } from '../../support/naive-constraints.ts';
import type { EventSeen, EventSketch, TransactionSeen, Violation } from '../history.ts';

export class DatabaseModel {
  /** The events of revision r with their stored ids, at index r - 1. */
  readonly #revisions: readonly (readonly EventSeen[])[];

  /** `transactions`: revisions from 1 without a gap. */
  constructor(transactions: readonly TransactionSeen[]) {
    const taken = new Set<string>();
    this.#revisions = transactions.map(({ revision, recordedTimeMs, events }) =>
      events.map((event, index) => {
        const free = `${event.stream}\n${event.id}`;
        const id = taken.has(free) ? `${event.id}~${revision}.${index}` : event.id;
        taken.add(`${event.stream}\n${id}`);
        return { ...event, id, revision, index, recordedTimeMs };
      }),
    );
  }

  /** Events of the revisions 1 to `revision`. */
  events(revision: number): readonly EventSeen[] {
    return this.#revisions.slice(0, revision).flat();
  }

  eventsOf(revision: number): readonly EventSeen[] {
    return this.#revisions[revision - 1] ?? [];
  }

  /** L: the revision of the latest matching event up to this revision; 0 without one. */
  latest(selector: Selector | undefined, revision: number): number {
    if (selector === undefined) return revision;
    for (let at = revision; at > 0; at -= 1) if (this.eventsOf(at).some((event) => selects(selector, event))) return at;
    return 0;
  }

  /** The violated constraints of a transaction on top of this revision. */
  violations(constraints: readonly Constraint[], revision: number): readonly Violation[] {
    return constraints
      .map((constraint, index) => ({ constraint, index, found: this.latest(constraint.selector, revision) }))
      .filter(({ constraint, found }) => !holds(constraint, found))
      .map(({ index, found }) => ({ index, found }));
  }

  query(query: EventQuery, revision: number): readonly EventSeen[] {
    const { selector, revisions, effectiveTime, direction, limit, after } = query;
    const { start = 0, end = Number.POSITIVE_INFINITY } = revisions;
    const selected = this.events(revision).filter(
      (event) => event.revision >= start && event.revision <= end && selects(selector, event),
    );
    const found = effectiveTime === undefined ? selected : inEffect(selected, effectiveTime);
    const ordered = direction === 'forward' ? found : found.toReversed();
    const isBehind = (event: EventSeen): boolean =>
      after === undefined || (direction === 'forward' ? isAfter(event, after) : isAfter(after, event));
    return ordered.filter(isBehind).slice(0, limit);
  }

  /** Every name with the revision of its first event, sorted by name. */
  names(of: 'streams' | 'subjects' | 'types', revision: number): readonly (readonly [string, number])[] {
    const first = new Map<string, number>();
    for (const event of this.events(revision)) {
      const name = of === 'streams' ? event.stream : of === 'types' ? event.type : event.subject;
      if (name !== undefined && !first.has(name)) first.set(name, event.revision);
    }
    return [...first].toSorted(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  }
}

/** Events in effect within this range, sorted by effective time, then by position. */
function inEffect(
  events: readonly EventSeen[],
  { start, end }: NonNullable<EventQuery['effectiveTime']>,
): readonly EventSeen[] {
  const fromMs = start === undefined ? Number.NEGATIVE_INFINITY : millisecondsOf(start);
  const toMs = end === undefined ? Number.POSITIVE_INFINITY : millisecondsOf(end);
  const tookEffectMs = ({ timeMs, recordedTimeMs }: EventSeen): number => timeMs ?? recordedTimeMs;
  return events
    .filter((event) => tookEffectMs(event) >= fromMs && tookEffectMs(event) <= toMs)
    .toSorted((one, other) => tookEffectMs(one) - tookEffectMs(other) || (isAfter(one, other) ? 1 : -1));
}

function millisecondsOf({ seconds, nanos }: { readonly seconds: number; readonly nanos: number }): number {
  return seconds * 1000 + nanos / 1_000_000;
}

/** True when the first position is after the second. */
export function isAfter(
  place: { readonly revision: number; readonly index: number },
  other: { readonly revision: number; readonly index: number },
): boolean {
  return place.revision === other.revision ? place.index > other.index : place.revision > other.revision;
}

/** True when the selector matches the event. The workload uses one source per stream. */
export function selects(selector: Selector, event: EventSketch): boolean {
  return matches(selector, { ...event, source: `/streams/${event.stream}` });
}

// A database worked out in the dumbest way: a list of transactions, and loops over their events. Written from the
// specification and its decisions; it shares only the shapes of selectors, constraints and queries with the node.
import type { Constraint, EventQuery, Selector } from '#model';
import { holds, matches } from '../../support/naive-constraints.ts';
import type { EventSeen, EventSketch, TransactionSeen, Violation } from '../history.ts';

export class DatabaseModel {
  /** Place r - 1 holds the events of revision r, with their stored ids. */
  readonly #revisions: readonly (readonly EventSeen[])[];

  /** The transactions of the revisions from 1 on, without a gap. */
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

  /** The events of the revisions 1 to `revision`. */
  events(revision: number): readonly EventSeen[] {
    return this.#revisions.slice(0, revision).flat();
  }

  eventsOf(revision: number): readonly EventSeen[] {
    return this.#revisions[revision - 1] ?? [];
  }

  /** L: the revision of the latest event that matches at or before the revision; 0 when there is none. */
  latest(selector: Selector | undefined, revision: number): number {
    if (selector === undefined) return revision;
    for (let at = revision; at > 0; at -= 1) if (this.eventsOf(at).some((event) => selects(selector, event))) return at;
    return 0;
  }

  /** The constraints that do not hold on top of the revision. */
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

  /** Every name with the revision of its first event, in the order of the names. */
  names(of: 'streams' | 'subjects' | 'types', revision: number): readonly (readonly [string, number])[] {
    const first = new Map<string, number>();
    for (const event of this.events(revision)) {
      const name = of === 'streams' ? event.stream : of === 'types' ? event.type : event.subject;
      if (name !== undefined && !first.has(name)) first.set(name, event.revision);
    }
    return [...first].toSorted(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  }
}

/** Those that took effect in this time, in the order in which they did; at the same time, in that of their places. */
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

/** Whether the first place is behind the second. */
export function isAfter(
  place: { readonly revision: number; readonly index: number },
  other: { readonly revision: number; readonly index: number },
): boolean {
  return place.revision === other.revision ? place.index > other.index : place.revision > other.revision;
}

/** Whether the selector selects the event. The workload writes one source for each stream. */
export function selects(selector: Selector, event: EventSketch): boolean {
  return matches(selector, { ...event, source: `/streams/${event.stream}` });
}

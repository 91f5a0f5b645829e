/**
 * Encodes the events, constraints and queries that simulated clients draw (test/simulation/workload/sketches.ts) as
 * gRPC messages.
 */
import { instantFromMs, nearestRevision } from '#base';
import type { Constraint, EventQuery, Selector, TermKind } from '#model';
import type { EventQuery as EventQueryMessage } from '../../proto/gen/cairn/v1/event.ts';
import { DataKind, Direction, Event, type EventSelector } from '../../proto/gen/cairn/v1/event.ts';
import type { Constraint as ConstraintMessage } from '../../proto/gen/cairn/v1/transaction.ts';
import type { EventSketch } from '../../test/simulation/history.ts';

type SelectorKind = NonNullable<EventSelector['kind']>;

const TERMS: Readonly<Record<TermKind, Exclude<SelectorKind['$case'], 'noSubject' | 'and' | 'or' | 'parameter'>>> = {
  'by-stream': 'byStream',
  'by-stream-prefix': 'byStreamPrefix',
  'by-type': 'byType',
  'by-type-prefix': 'byTypePrefix',
  'by-subject': 'bySubject',
  'by-subject-prefix': 'bySubjectPrefix',
  'by-source': 'bySource',
};

function selectorMessage(selector: Selector): EventSelector {
  return { stream: undefined, eventType: undefined, subject: undefined, source: undefined, kind: kindOf(selector) };
}

/** An empty list of selectors selects every event. */
export function selectionMessage(selector: Selector): { readonly selectors: readonly EventSelector[] } {
  return { selectors: selector.kind === 'all' ? [] : [selectorMessage(selector)] };
}

export function constraintMessage(constraint: Constraint): ConstraintMessage {
  const selector = constraint.selector === undefined ? undefined : selectorMessage(constraint.selector);
  switch (constraint.kind) {
    case 'min-revision':
      return { kind: { $case: 'minRevision', value: { revision: nearestRevision(constraint.revision), selector } } };
    case 'max-revision':
      return { kind: { $case: 'maxRevision', value: { revision: nearestRevision(constraint.revision), selector } } };
    case 'revision-range': {
      const { start, end } = constraint;
      return {
        kind: { $case: 'revisionRange', value: { start: nearestRevision(start), end: nearestRevision(end), selector } },
      };
    }
  }
}

export function queryMessage(query: EventQuery): EventQueryMessage {
  const { selector, revisions, effectiveTime, direction, limit, after } = query;
  return {
    eventSelection: selectionMessage(selector),
    revisionRange: { start: numberOf(revisions.start), end: numberOf(revisions.end) },
    effectiveTimeRange: effectiveTime && { start: effectiveTime.start, end: effectiveTime.end },
    direction: directionMessage(direction),
    limit: limit ?? 0,
    after,
  };
}

function numberOf(bound: number | bigint | undefined): number | undefined {
  return bound === undefined ? undefined : nearestRevision(bound);
}

export function directionMessage(direction: EventQuery['direction']): Direction {
  return direction === 'forward' ? Direction.DIRECTION_FORWARD : Direction.DIRECTION_REVERSE;
}

export function eventMessage({ id, stream, type, subject, timeMs, text, zeros }: EventSketch): Event {
  return Event.fromPartial({
    id,
    specVersion: '1.0',
    ty: type,
    source: `/streams/${stream}`,
    subject,
    ...(timeMs !== undefined && { time: instantFromMs(timeMs) }),
    data: Buffer.concat([Buffer.from(text), Buffer.alloc(zeros)]),
    dataKind: DataKind.DATA_KIND_BINARY,
  });
}

function kindOf(selector: Selector): EventSelector['kind'] {
  switch (selector.kind) {
    case 'all':
      return undefined;
    case 'no-subject':
      return { $case: 'noSubject', value: {} };
    case 'and':
    case 'or':
      return { $case: selector.kind, value: { selectors: selector.selectors.map(selectorMessage) } };
    case 'by-stream':
    case 'by-stream-prefix':
    case 'by-type':
    case 'by-type-prefix':
    case 'by-subject':
    case 'by-subject-prefix':
    case 'by-source':
      return { $case: TERMS[selector.kind], value: selector.value };
  }
}

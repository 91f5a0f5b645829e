/**
 * A decision in the shape of the EvidentSource SDK: arguments and result of `decide` (ADR 0102).
 *
 * Its conditions count events up to the revision of the decision, and are decided there, by the latest event of their
 * selectors. A later event that could change one becomes a guard in addition to those of the reads. The numbers of this
 * shape (ordinals) are therefore never compared with those of transactions, and none is rounded.
 *
 *   F51 Events are committed only on top of a revision at which each condition of the decision holds.
 */
import { instantFromMs } from '#base';
import type { Selector } from '#model';
import { databaseAtRevision, EventOrdinals, queryEvents } from '#query';
import { isList, isRecord, tagged, type Value, type ValueList } from '#wasm';
import {
  type CommandRefusal,
  type CommandRefusalCode,
  type Decision,
  type DecisionAsk,
  type DecisionFailure,
} from './decision.ts';
import { emittedFrom } from './emitted-events.ts';
import { failed } from './guest-failures.ts';
import type { ReadRecord } from './read-record.ts';
import { integerFrom } from './sdk-reader.ts';
import { sdkSelector } from './sdk-selector.ts';
import { datetimeValue } from './sdk-values.ts';

const CONTENT_TYPE = 'content-type';
/** Content type that HTTP assumes for a body without one. */
const UNKNOWN_TYPE = 'application/octet-stream';

/** The arguments of `decide`. */
export async function decideValues(
  { title, command, receivedAtMs, lastSeen, database: { source } }: DecisionAsk,
  database: Value,
): Promise<ValueList> {
  const seen = lastSeen === undefined ? undefined : await databaseAtRevision(source, lastSeen);
  const contentType = command.headers.find(([name]) => name === CONTENT_TYPE)?.[1] ?? UNKNOWN_TYPE;
  return [
    database,
    { body: command.body, 'content-type': contentType, 'content-schema': undefined },
    {
      'state-change-name': title?.name,
      'state-change-version': title?.version,
      'last-seen-revision': seen?.totalEvents,
      'command-received-at': datetimeValue(instantFromMs(receivedAtMs)),
      'command-headers': command.headers,
    },
  ];
}

const CODES: ReadonlyMap<Value, CommandRefusalCode> = new Map([
  ['validation', 'ValidationFailed'],
  ['conflict', 'Conflict'],
  ['not-found', 'StateNotFound'],
  ['unauthorized', 'Unauthorized'],
  ['internal', 'InternalError'],
]);

export interface SdkAnswered {
  readonly ask: DecisionAsk;
  readonly at: number;
  readonly record: ReadRecord;
}

export async function sdkDecision(answer: Value, { ask, at, record }: SdkAnswered): Promise<Decision> {
  const { tag, val } = isRecord(answer) ? answer : { tag: undefined, val: undefined };
  if (tag === 'err') return refusalFrom(val, at);
  const [events, conditions] = isList(val) ? val : [];
  if (tag !== 'ok' || !isList(conditions)) return unreadable('no events and conditions');
  const emitted = emittedFrom(tagged('ok', events), ask.mintId);
  if (emitted.kind === 'failed') return emitted;
  if (emitted.kind === 'refused') return { ...emitted, at };
  for (const [index, each] of conditions.entries()) {
    const condition = conditionFrom(each);
    if (typeof condition === 'string') return failed('ValidationError', `conditions[${index}]: ${condition}`);
    const unmet = unmetBy(condition, await latestOf(ask, at, condition.selector));
    if (unmet !== undefined) return refused(`conditions[${index}]: ${unmet}`, at);
    if (condition.max < Number.MAX_SAFE_INTEGER) record.sawAll(condition.selector);
  }
  return { kind: 'decided', at, events: emitted.events, guards: record.guards(at) };
}

function refusalFrom(error: Value, at: number): CommandRefusal | DecisionFailure {
  const { tag, val } = isRecord(error) ? error : { tag: undefined, val: undefined };
  const code = CODES.get(tag);
  if (code === undefined || typeof val !== 'string') return unreadable('an error');
  return { kind: 'refused', at, code, message: val, reason: undefined, details: undefined };
}

function refused(message: string, at: number): CommandRefusal {
  return { kind: 'refused', at, code: 'Conflict', message, reason: undefined, details: undefined };
}

function unreadable(what: string): DecisionFailure {
  return failed('WasmExecutionError', `The component answers ${what}, as the SDK does not have it`);
}

/** The ordinal of the latest event of the selector, 0 for none, is in this range. */
interface Condition {
  readonly selector: Selector;
  readonly min: number;
  readonly max: number;
}

/** Parses a `batch-constraint`, or describes its fault. */
function conditionFrom(value: Value): Condition | string {
  const { tag, val } = isRecord(value) ? value : { tag: undefined, val: undefined };
  const { selector: nodes, revision, min, max } = isRecord(val) ? val : {};
  const selector = sdkSelector(nodes);
  if (typeof selector === 'string') return selector;
  const bounds = {
    min: tag === 'min' ? integerFrom(revision) : tag === 'range' ? integerFrom(min) : 0,
    max: tag === 'max' ? integerFrom(revision) : tag === 'range' ? integerFrom(max) : Number.MAX_SAFE_INTEGER,
  };
  if ((tag !== 'min' && tag !== 'max' && tag !== 'range') || bounds.min === undefined || bounds.max === undefined) {
    return 'is no min, max or range of revisions';
  }
  if (bounds.min > bounds.max) return `goes from ${bounds.min} to ${bounds.max}, which is before it`;
  return { selector, min: bounds.min, max: bounds.max };
}

function unmetBy({ min, max }: Condition, latest: number): string | undefined {
  if (latest < min) return `needs an event from ${min} on; the latest of its selector is ${latest}`;
  return latest > max ? `needs no event after ${max}; the latest of its selector is ${latest}` : undefined;
}

async function latestOf({ database: { source } }: DecisionAsk, at: number, selector: Selector): Promise<number> {
  const query = { selector, revisions: { end: at }, direction: 'reverse', limit: 1 } as const;
  for await (const slice of queryEvents(source, { at, query })) {
    const [event] = slice;
    if (event !== undefined) return new EventOrdinals(source).of(event.position);
  }
  return 0;
}

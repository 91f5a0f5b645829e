// Decisions over a dynamic consistency boundary, for tests: read what a selector names, decide, append on condition
// that nothing else matching it was appended meanwhile.
import type { Api, Committed, JsonEvent, ReadEvent, Refused, TestSelector } from './api/api.ts';

/** An event of a feature, apart from its id. */
export interface Fact {
  readonly type: string;
  readonly stream: string;
  readonly subject?: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** RFC 3339; absent: when it is recorded. */
  readonly time?: string;
}

export interface Decider<Command> {
  /** What the decision depends on. */
  boundary(command: Command): TestSelector;
  /** The new event, or in words why there is none. */
  decide(past: readonly PastFact[], command: Command): Fact | string;
}

export interface PastFact {
  readonly type: string;
  readonly stream: string;
  readonly subject: string | undefined;
  readonly data: Readonly<Record<string, unknown>>;
  readonly time: string | undefined;
}

export type Decision =
  | { readonly kind: 'appended'; readonly fact: Fact }
  | { readonly kind: 'denied'; readonly why: string }
  | { readonly kind: 'conflict' };

let eventCount = 0;

/** Events as facts, stored as they are. */
export async function given(api: Api, database: string, facts: readonly Fact[]): Promise<void> {
  for (const fact of facts) {
    const stored = await api.transact(database, { events: [eventOf(fact)] });
    if (stored.kind === 'refused') throw new Error(`a given event was refused: ${stored.message}`);
  }
}

/** Reads and decides, and hands back the append: so that a test can let two decisions race. */
export async function prepare<Command>(
  target: { readonly api: Api; readonly database: string },
  decider: Decider<Command>,
  command: Command,
): Promise<() => Promise<Decision>> {
  const selector = decider.boundary(command);
  const past = await target.api.query(target.database, { selectors: [selector] });
  const decided = decider.decide(past.map(pastFactOf), command);
  if (typeof decided === 'string') return () => Promise.resolve({ kind: 'denied', why: decided });
  const seen = past.at(-1)?.revision ?? 0;
  return async () => {
    const constraints = [{ kind: 'max', revision: seen, selector } as const];
    const stored = await target.api.transact(target.database, { events: [eventOf(decided)], constraints });
    return outcomeOf(stored, decided);
  };
}

export async function decide<Command>(
  target: { readonly api: Api; readonly database: string },
  decider: Decider<Command>,
  command: Command,
): Promise<Decision> {
  const append = await prepare(target, decider, command);
  return append();
}

function outcomeOf(stored: Committed | Refused, fact: Fact): Decision {
  if (stored.kind === 'committed') return { kind: 'appended', fact };
  if (stored.code === 'FAILED_PRECONDITION') return { kind: 'conflict' };
  throw new Error(`the append was refused: ${stored.code} ${stored.message}`);
}

function eventOf(fact: Fact): JsonEvent {
  eventCount += 1;
  return {
    specversion: '1.0',
    id: `e-${eventCount}`,
    source: `/${fact.stream}`,
    type: fact.type,
    ...(fact.subject === undefined ? {} : { subject: fact.subject }),
    ...(fact.time === undefined ? {} : { time: fact.time }),
    datacontenttype: 'application/json',
    data: fact.data,
  };
}

function pastFactOf(event: ReadEvent): PastFact {
  const data: Readonly<Record<string, unknown>> = JSON.parse(event.data);
  return { type: event.type, stream: event.source.slice(1), subject: event.subject, data, time: event.time };
}

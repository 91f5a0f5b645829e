/**
 * State Changes: decide a command into events, or refuse it.
 *
 * Method and path of the command select the decision, by routes with `{name}` segments. A decision reads through the
 * reader; all answers are of one revision. `decider` makes a decision from a pure decider, whose state is folded from
 * events that it reads.
 */
import {
  type CloudEventRecord,
  InvalidEvent,
  type NewEvent,
  type StoredEvent,
  type Tagged,
  toRecord,
  UNPAIRED,
} from './event.ts';
import { type Json, jsonText, parseJson } from './json.ts';
import { saidOf } from './memory.ts';
import { Router } from './routes.ts';
import type { Selector } from './selector.ts';
import type { Parameters } from './state-view.ts';

/** The record `command` of cairn.wit. */
export interface CommandRecord {
  readonly method: string;
  readonly path: string;
  readonly queryParams: readonly (readonly [name: string, value: string])[];
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array | undefined;
}

/** The interface `state-reader` of cairn.wit in componentize-js: errors of results are thrown. */
export interface ReaderFunctions {
  getStateView(name: string, parameters: [string, string][]): Uint8Array | undefined;
  queryEvents(selector: string, limit: number): Uint8Array[];
  getDatabase(): { name: string; id: string; revision: bigint; revisionTime: string };
}

export interface Database {
  readonly name: string;
  readonly id: string;
  readonly revision: number;
  readonly revisionTime: string;
}

/** Reads that a decision may make. */
export interface StateReader {
  /** The rendered state of a view as JSON, or undefined when there are no folded events. */
  stateView<State = Json>(name: string, parameters?: Parameters): State | undefined;
  stateViewBytes(name: string, parameters?: Parameters): Uint8Array | undefined;
  /** In the order of revisions. */
  events<Event extends StoredEvent<string, unknown> = StoredEvent>(selector: Selector, limit: number): readonly Event[];
  database(): Database;
}

/** The input of a route. */
export interface Command {
  readonly method: string;
  readonly path: string;
  /** The segments that the route names, decoded. */
  readonly parameters: Readonly<Record<string, string>>;
  /** The first query parameter of that name. */
  query(name: string): string | undefined;
  /** The header of that name, in any case. */
  header(name: string): string | undefined;
  readonly body: Uint8Array | undefined;
  /** The body as JSON, unchecked. A missing or malformed body refuses the command as invalid-input. */
  json<Body = Json>(): Body;
}

export type Decide = (command: Command, reader: StateReader) => readonly NewEvent[];

export interface StateChange {
  /** Decisions, keyed on `METHOD /path/{name}`. */
  readonly routes: Readonly<Record<string, Decide>>;
}

export type RefusalKind =
  | 'validation-failed'
  | 'unknown-command'
  | 'invalid-input'
  | 'state-not-found'
  | 'internal-error';

/** Thrown by a decision to refuse the command; nothing is committed. */
export class CommandRefused extends Error {
  readonly kind: RefusalKind;
  /** The variant `command-error` of cairn.wit. componentize-js requires an own property. */
  readonly payload: Tagged<RefusalKind, Explanation>;

  constructor(kind: RefusalKind, message: string, more: { readonly code?: string; readonly details?: Json } = {}) {
    super(message);
    this.name = 'CommandRefused';
    this.kind = kind;
    const details = more.details === undefined ? undefined : jsonText(more.details);
    this.payload = { tag: kind, val: { message, code: more.code, details } };
  }
}

/** The record `explanation` of cairn.wit. */
export interface Explanation {
  readonly message: string;
  readonly code: string | undefined;
  readonly details: string | undefined;
}

/** The `component` export of a State Change's module. */
export interface StateChangeComponent {
  readonly kind: 'state-change';
  readonly change: StateChange;
}

export function defineStateChange(change: StateChange): StateChangeComponent {
  return { kind: 'state-change', change };
}

/** A pure decider: decides new events from the state of past events. */
export interface Decider<State, Given, Event extends StoredEvent<string, unknown> = StoredEvent> {
  initialState(): State;
  evolve(state: State, event: Event): State;
  decide(state: State, given: Given): readonly NewEvent[];
}

export interface DecidedOver<Given> {
  /** Selects the events that the state is folded from. */
  events(command: Command): Selector;
  /** Maximum number of events: the command is refused when there are more. */
  readonly limit: number;
  /** Converts the command to the decider's input. */
  given(command: Command): Given;
}

/** A decision over the events of a selector. */
export function decider<State, const Given, Event extends StoredEvent<string, unknown>>(
  pure: Decider<State, Given, Event>,
  over: DecidedOver<Given>,
): Decide {
  return (command, reader) => {
    const given = over.given(command);
    const found = reader.events<Event>(over.events(command), over.limit + 1);
    if (found.length > over.limit) {
      const message = `There are more than ${over.limit} events to decide over; read a State View instead`;
      throw new CommandRefused('internal-error', message);
    }
    let state = pure.initialState();
    for (const event of found) state = pure.evolve(state, event);
    return pure.decide(state, given);
  };
}

/** The export of the world `state-change`. */
export interface StateChangeGuest {
  decide(command: CommandRecord): readonly CloudEventRecord[];
}

/** The change as the function that a component exports; build.ts calls it. */
export function stateChangeGuest({ change }: StateChangeComponent, functions: ReaderFunctions): StateChangeGuest {
  const router = new Router(change.routes);
  const reader = readerOf(functions);
  return {
    decide(given) {
      try {
        const found = router.find(given.method, given.path);
        if (found === undefined) {
          throw new CommandRefused('unknown-command', `There is no ${given.method} ${given.path}; ${router.known()}`);
        }
        const events: unknown = found.target(commandOf(given, found.parameters), reader);
        // Authors may write JavaScript: a decision may be a promise, and a list may have holes.
        if (!Array.isArray(events)) throw new InvalidEvent('events must be a list');
        return Array.from<NewEvent, CloudEventRecord>(events, toRecord);
      } catch (error) {
        if (error instanceof CommandRefused) throw error;
        if (error instanceof InvalidEvent) throw invalidEvent(error);
        throw new CommandRefused('internal-error', saidOf(error));
      }
    },
  };
}

/** The database's answer to an invalid record. */
function invalidEvent({ message }: InvalidEvent): CommandRefused {
  const code = 'ValidationError';
  return new CommandRefused('validation-failed', `The component emits an invalid event: ${message}`, { code });
}

function commandOf(given: CommandRecord, parameters: Readonly<Record<string, string>>): Command {
  const { method, path, body, queryParams, headers } = given;
  return {
    method,
    path,
    parameters,
    body,
    query: (name) => queryParams.find(([found]) => found === name)?.[1],
    header: (name) => headers.find(([found]) => found.toLowerCase() === name.toLowerCase())?.[1],
    json<Body>(): Body {
      if (body === undefined) throw new CommandRefused('invalid-input', 'The command has no body; send JSON');
      try {
        return parseJson<Body>(body);
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        throw new CommandRefused('invalid-input', `The body is not JSON: ${why}`);
      }
    },
  };
}

/** Maximum limit of a query; the host's own is lower. */
const LIMIT_MAX = 2 ** 31 - 1;

function readerOf(functions: ReaderFunctions): StateReader {
  const stateViewBytes: StateReader['stateViewBytes'] = (name, parameters = {}) => {
    const pairs = Object.entries(parameters);
    const [faulty] = pairs.find((pair) => pair.some((text) => UNPAIRED.test(text))) ?? [];
    if (faulty !== undefined) {
      const message = `The parameter ${JSON.stringify(faulty)} of ${name} must not contain an unpaired surrogate`;
      throw new CommandRefused('internal-error', message);
    }
    return asked(() => functions.getStateView(name, pairs));
  };
  return {
    stateViewBytes,
    stateView<State>(name: string, parameters: Parameters = {}): State | undefined {
      const bytes = stateViewBytes(name, parameters);
      return bytes === undefined ? undefined : parseJson<State>(bytes);
    },
    events<Event extends StoredEvent<string, unknown>>(selector: Selector, limit: number) {
      // Any other number would be converted to a different integer.
      if (!(Number.isInteger(limit) && limit >= 0 && limit <= LIMIT_MAX)) {
        throw new CommandRefused(
          'internal-error',
          `The limit is ${limit}; it must be an integer from 0 to ${LIMIT_MAX}`,
        );
      }
      return asked(() => functions.queryEvents(jsonText(selector), limit)).map((bytes) => parseJson<Event>(bytes));
    },
    database() {
      const { revision, ...rest } = functions.getDatabase();
      return { ...rest, revision: Number(revision) };
    },
  };
}

const READ_REFUSALS: Readonly<Record<string, RefusalKind>> = {
  'not-found': 'state-not-found',
  'invalid-input': 'internal-error',
  unavailable: 'internal-error',
};

/** Turns an error of a read into the command's result, unless the decision catches it. */
function asked<Value>(ask: () => Value): Value {
  try {
    return ask();
  } catch (error) {
    const said = saidBy(error);
    if (said === undefined) throw error;
    throw new CommandRefused(READ_REFUSALS[said.tag] ?? 'internal-error', said.val, { code: said.tag });
  }
}

/** The error of a result: the payload of the thrown object, which has a different class in StarlingMonkey. */
function saidBy(error: unknown): Tagged<string, string> | undefined {
  const found = typeof error === 'object' && error !== null && 'payload' in error ? error.payload : undefined;
  if (typeof found !== 'object' || found === null || !('tag' in found && 'val' in found)) return undefined;
  const { tag, val } = found;
  return typeof tag === 'string' && typeof val === 'string' ? { tag, val } : undefined;
}

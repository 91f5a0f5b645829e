/**
 * State Views: a fold over events, written as an initial state and a step.
 *
 * Between calls the state is stored as bytes, so it must survive its codec: JSON by default. The host splits a history
 * into any batches and requests the bytes after each. `evolve` may modify its state argument, which has no other
 * reference.
 */
import type { StoredEvent } from './event.ts';
import { type Json, jsonText, parseJson, toBytes } from './json.ts';
import { isOutOfMemory, OUT_OF_MEMORY } from './memory.ts';

/** Parameters of a read by their names, `{attribute}.{parameter}`. */
export type Parameters = Readonly<Record<string, string>>;

/** Result of a read: bytes, a text, or any JSON value. */
export type Rendered = Uint8Array | Json;

export interface StateView<State, Event extends StoredEvent<string, unknown> = StoredEvent> {
  initialState(): State;
  /** Depends on its arguments only: no clock, no random numbers, no outside state. */
  evolve(state: State, event: Event): State;
  /** The result of a read; by default the state as JSON. A text is returned unquoted. */
  render?(state: State, parameters: Parameters): Rendered;
  /** Encodes the state when JSON cannot. */
  readonly codec?: Codec<State>;
}

export interface Codec<State> {
  encode(state: State): Uint8Array;
  decode(bytes: Uint8Array): State;
}

/** The exports of the world `state-view`. */
export interface StateViewGuest {
  evolve(state: Uint8Array, event: Uint8Array): Uint8Array;
  evolveMany(state: Uint8Array, events: readonly Uint8Array[]): Uint8Array;
  query(state: Uint8Array, parameters: Uint8Array): Uint8Array;
}

/** Error that becomes the result of the guest: its text and the author's stack are in `payload`, an own property. */
export class GuestError extends Error {
  readonly payload: string;

  constructor(cause: unknown) {
    const message = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
    super(message, { cause });
    this.payload = cause instanceof Error ? `${message}${framesOf(cause, message)}` : message;
  }
}

/** The stack in Node's format, for any engine, without a leading message. */
function framesOf({ stack = '' }: Error, message: string): string {
  const frames = (stack.startsWith(message) ? stack.slice(message.length) : stack)
    .split('\n')
    .map((line) => line.trim());
  return frames
    .filter((frame) => frame !== '')
    .map((frame) => `\n    at ${frame.replace(/^at /, '')}`)
    .join('');
}

/** The `component` export of a State View's module. */
export interface StateViewComponent<State, Event extends StoredEvent<string, unknown> = StoredEvent> {
  readonly kind: 'state-view';
  readonly view: StateView<State, Event>;
}

export function defineStateView<State, Event extends StoredEvent<string, unknown> = StoredEvent>(
  view: StateView<State, Event>,
): StateViewComponent<State, Event> {
  return { kind: 'state-view', view };
}

/** The view as the functions that a component exports; build.ts calls it. */
export function stateViewGuest<State, Event extends StoredEvent<string, unknown>>({
  view,
}: StateViewComponent<State, Event>): StateViewGuest {
  const codec = view.codec ?? jsonCodec<State>();
  const stateOf = (bytes: Uint8Array): State => (bytes.length === 0 ? view.initialState() : codec.decode(bytes));
  const guarded = guard();
  return {
    evolve: (state, event) => guarded(1, () => codec.encode(view.evolve(stateOf(state), parseJson<Event>(event)))),
    evolveMany: (state, events) =>
      guarded(events.length, () => {
        let latest = stateOf(state);
        for (const event of events) latest = view.evolve(latest, parseJson<Event>(event));
        return codec.encode(latest);
      }),
    query: (state, parameters) => guarded(1, () => rendered(view, stateOf(state), parameters)),
  };
}

function rendered<State, Event extends StoredEvent<string, unknown>>(
  view: StateView<State, Event>,
  state: State,
  parameters: Uint8Array,
): Uint8Array {
  const given = parameters.length === 0 ? {} : parseJson<Parameters>(parameters);
  const made = view.render === undefined ? state : view.render(state, given);
  if (made instanceof Uint8Array) return made;
  return toBytes(typeof made === 'string' ? made : jsonText(made));
}

/** Codec of a Map state: a list of its entries, in order. A key may be any text, also `__proto__`. */
export function mapCodec<Key extends string | number, Value>(): Codec<Map<Key, Value>> {
  return {
    encode: (map) => toBytes(jsonText([...map])),
    decode: (bytes) => new Map(parseJson<readonly (readonly [Key, Value])[]>(bytes)),
  };
}

function jsonCodec<State>(): Codec<State> {
  return { encode: (state) => toBytes(jsonText(state)), decode: (bytes) => parseJson<State>(bytes) };
}

/**
 * Errors of the author's code become the fold's error: they are deterministic. A lack of memory is not: fewer events or
 * a fresh instance may succeed. So a call without memory traps, and the host calls again with less; only a call that
 * cannot have more memory returns the error.
 */
function guard(): <Value>(eventCount: number, work: () => Value) => Value {
  let isUsed = false;
  return (eventCount, work) => {
    const wasUsed = isUsed;
    isUsed = true;
    try {
      return work();
    } catch (error) {
      if (!isOutOfMemory(error)) throw new GuestError(error);
      // Without a payload it is no error of the result, and ends the instance.
      throw wasUsed || eventCount > 1 ? new Error(OUT_OF_MEMORY) : new GuestError(OUT_OF_MEMORY);
    }
  };
}

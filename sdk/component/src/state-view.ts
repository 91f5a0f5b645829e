/**
 * State Views: a fold over events, written as a state to begin with and a step.
 *
 * The state crosses as bytes between calls, so what `evolve` returns has to come back as it was: by default through
 * JSON. The host cuts a history into batches wherever it likes, and asks for the bytes behind each; `evolve` may change
 * the state that it is given, because nobody else holds it.
 */
import type { StoredEvent } from './event.ts';
import { type Json, jsonText, parseJson, toBytes } from './json.ts';
import { isOutOfMemory, OUT_OF_MEMORY } from './memory.ts';

/** Parameters of a read by their names, `{attribute}.{parameter}`. */
export type Parameters = Readonly<Record<string, string>>;

/** What a read gives: bytes, a text, or anything that JSON has a text for. */
export type Rendered = Uint8Array | Json;

export interface StateView<State, Event extends StoredEvent<string, unknown> = StoredEvent> {
  initialState(): State;
  /** Depends on its arguments alone: no clock, no random numbers, nothing kept outside. */
  evolve(state: State, event: Event): State;
  /** What is read; without it the state as JSON. A text is rendered as it is. */
  render?(state: State, parameters: Parameters): Rendered;
  /** How the state becomes bytes, where JSON does not do. */
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

/** The stack as Node has it, whatever engine made it, and without the message that some begin it with. */
function framesOf({ stack = '' }: Error, message: string): string {
  const frames = (stack.startsWith(message) ? stack.slice(message.length) : stack)
    .split('\n')
    .map((line) => line.trim());
  return frames
    .filter((frame) => frame !== '')
    .map((frame) => `\n    at ${frame.replace(/^at /, '')}`)
    .join('');
}

/** What the module of a State View exports as `component`. */
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

/** For a state that is a Map: a list of its entries, in their order. A key may be any text, also `__proto__`. */
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
 * What the author's code throws is what the fold says; it is the same each time, like everything else that it does. Not
 * so of memory: with fewer events, or in an instance that was not called before, there may be enough. So what has no
 * memory left then ends as a trap does, and the host calls again with less; only what can have no more says so.
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

/**
 * Presenters: turn a rendered state into a body, in parts.
 *
 * Parts are streamed. When a presenter throws before its first part, the client receives the error; when it throws
 * later, the body ends there, and the client sees that it is truncated.
 */
import type { Tagged } from './event.ts';
import { type Json, parseJson, toBytes } from './json.ts';
import { saidOf } from './memory.ts';
import type { Parameters } from './state-view.ts';

/** The record `presentation` of cairn.wit. */
export interface PresentationRecord {
  readonly database: string;
  readonly databaseId: string;
  readonly revision: bigint;
  readonly view: string;
  readonly version: number;
  readonly contentType: string;
  readonly parameters: readonly (readonly [name: string, value: string])[];
  readonly settings: string | undefined;
}

/** The interface `sink` of cairn.wit. */
export interface SinkFunctions {
  write(bytes: Uint8Array): boolean;
  continueWith(token: string): void;
}

export interface Presentation<State> {
  readonly state: State;
  readonly database: string;
  readonly databaseId: string;
  readonly revision: number;
  readonly view: string;
  readonly version: number;
  readonly contentType: string;
  readonly parameters: Parameters;
  /** Settings of the presenter, as JSON. */
  readonly settings: Json | undefined;
  /** Sets the token of the next page; call it before the first part. */
  continueWith(token: string): void;
}

export type Part = string | Uint8Array;

export interface Presenter<State> {
  present(presentation: Presentation<State>): AsyncIterable<Part> | Iterable<Part>;
  /** Parses the rendered state when it is not JSON. */
  decode?(bytes: Uint8Array): State;
}

export type PresentErrorKind = 'invalid-input' | 'not-found' | 'internal-error';

/** Thrown by a presenter. */
export class PresentFailed extends Error {
  readonly kind: PresentErrorKind;
  /** The variant `present-error` of cairn.wit. componentize-js requires an own property. */
  readonly payload: Tagged<PresentErrorKind, string>;

  constructor(kind: PresentErrorKind, message: string) {
    super(message);
    this.name = 'PresentFailed';
    this.kind = kind;
    this.payload = { tag: kind, val: message };
  }
}

/** The `component` export of a presenter's module. */
export interface PresenterComponent<State> {
  readonly kind: 'presenter';
  readonly presenter: Presenter<State>;
}

export function definePresenter<State = Json>(presenter: Presenter<State>): PresenterComponent<State> {
  return { kind: 'presenter', presenter };
}

/** The export of the world `presenter`. */
export interface PresenterGuest {
  present(presentation: PresentationRecord, state: Uint8Array): Promise<void>;
}

/** Parts are buffered up to this size, because each write is a host call. */
const GATHERED_BYTES = 16_384;
/** Maximum size of one write (ADR 0115). */
const WRITE_BYTES_MAX = 262_144;

/** The presenter as the function that a component exports; build.ts calls it. */
export function presenterGuest<State>({ presenter }: PresenterComponent<State>, sink: SinkFunctions): PresenterGuest {
  const decode = (bytes: Uint8Array): State => presenter.decode?.(bytes) ?? parseJson<State>(bytes);
  return {
    async present(given, state) {
      const body = new Body(sink);
      try {
        const parts = presenter.present(presentationOf(given, decode(state), body));
        for await (const part of parts) {
          if (!body.add(typeof part === 'string' ? toBytes(part) : part)) return;
        }
        body.flush();
      } catch (error) {
        if (error instanceof PresentFailed) throw error;
        throw new PresentFailed('internal-error', saidOf(error));
      }
    },
  };
}

function presentationOf<State>(given: PresentationRecord, state: State, body: Body): Presentation<State> {
  const { revision, parameters, settings, ...rest } = given;
  return {
    ...rest,
    state,
    revision: Number(revision),
    parameters: Object.fromEntries(parameters),
    settings: settings === undefined ? undefined : parseJson<Json>(toBytes(settings)),
    continueWith: (token) => body.continueWith(token),
  };
}

class Body {
  readonly #sink: SinkFunctions;
  #gathered: Uint8Array[] = [];
  #gatheredBytes = 0;
  #hasBegun = false;
  #isRead = true;

  constructor(sink: SinkFunctions) {
    this.#sink = sink;
  }

  /** Returns false when the reader has gone. */
  add(part: Uint8Array): boolean {
    this.#hasBegun = true;
    this.#gathered.push(part);
    this.#gatheredBytes += part.length;
    if (this.#gatheredBytes >= GATHERED_BYTES) this.flush();
    return this.#isRead;
  }

  flush(): void {
    const bytes = joined(this.#gathered);
    this.#gathered = [];
    this.#gatheredBytes = 0;
    for (let at = 0; at < bytes.length && this.#isRead; at += WRITE_BYTES_MAX) {
      this.#isRead = this.#sink.write(bytes.subarray(at, at + WRITE_BYTES_MAX));
    }
  }

  continueWith(token: string): void {
    if (this.#hasBegun) throw new PresentFailed('internal-error', 'The next page is said before the first part');
    this.#sink.continueWith(token);
  }
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const [only] = parts;
  if (only !== undefined && parts.length === 1) return only;
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

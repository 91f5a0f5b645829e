/**
 * An event as an object, for the places that need its attributes as values: decoding what a client wrote in some other
 * shape, and showing events. The stored form, the one that is hashed, indexed and forwarded, is its canonical wire form
 * (see event-wire.ts); nothing on the write or read path of gRPC builds this object.
 *
 * An `Event` is not yet checked: the one checker is the walk over its canonical bytes (event-walk.ts).
 */
import type { Instant } from '#base';

/** How `data` is shown in JSON. The numbers are those of the wire. */
export const DATA_KIND = { UNSPECIFIED: 0, JSON: 1, TEXT: 2, BINARY: 3, PROTO: 4 } as const;

export const SPEC_VERSION = '1.0';

export interface Event {
  readonly id: string;
  readonly specVersion: string;
  readonly type: string;
  readonly source: string;
  /** Absent and empty differ; empty is invalid. */
  readonly subject?: string | undefined;
  /** The effective time; without it the recorded time takes its place. */
  readonly time?: EffectiveTime | undefined;
  /** Empty when there is no payload, or an empty one: the kind tells. */
  readonly data: Uint8Array;
  /** A `DATA_KIND`; another number is invalid. */
  readonly dataKind: number;
  readonly dataContentType?: string | undefined;
  readonly dataSchema?: string | undefined;
  readonly extensions: ReadonlyMap<string, ExtensionValue>;
}

export interface EffectiveTime {
  readonly instant: Instant;
  /** How it was spelled, when that is not the canonical spelling of the instant. */
  readonly text?: string | undefined;
}

/** An extension attribute with its CloudEvents type. */
export type ExtensionValue =
  | { readonly kind: 'boolean'; readonly value: boolean }
  | { readonly kind: 'integer'; readonly value: number }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'bytes'; readonly value: Uint8Array }
  | { readonly kind: 'uri'; readonly value: string }
  | { readonly kind: 'uri-ref'; readonly value: string }
  | { readonly kind: 'timestamp'; readonly value: Instant };

/** What a server adds to an event that it gives out. */
export interface ServerFields {
  readonly revision: number;
  /** 0-based place in its transaction. */
  readonly index: number;
  readonly recordedTimeMs: number;
  /** Where it differs from the id that the client wrote. */
  readonly storedId?: string | undefined;
}

/**
 * Where the parts of an event are in its canonical bytes: offsets into the array that was walked, ranges half-open.
 * A start of −1 means that the attribute is absent. `stream` lies inside `source`.
 */
export interface EventFacts {
  readonly idStart: number;
  readonly idEnd: number;
  readonly typeStart: number;
  readonly typeEnd: number;
  readonly sourceStart: number;
  readonly sourceEnd: number;
  readonly streamStart: number;
  readonly streamEnd: number;
  readonly subjectStart: number;
  readonly subjectEnd: number;
  /** Whether the event carries a time of its own; without one, seconds and nanos are 0. */
  readonly hasTime: boolean;
  readonly seconds: number;
  readonly nanos: number;
}

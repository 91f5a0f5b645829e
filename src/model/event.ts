/**
 * An event as an object, for code that needs its attributes as values: decoding other forms, and showing events. The
 * stored form is the canonical wire form (event-wire.ts); the write and read paths of gRPC do not build this object.
 *
 * An `Event` is not checked yet: the walk over its canonical bytes checks it (event-walk.ts).
 */
import type { Instant } from '#base';

/** Form of `data` in JSON. The numbers are those of the wire. */
export const DATA_KIND = { UNSPECIFIED: 0, JSON: 1, TEXT: 2, BINARY: 3, PROTO: 4 } as const;

export const SPEC_VERSION = '1.0';

export interface Event {
  readonly id: string;
  readonly specVersion: string;
  readonly type: string;
  readonly source: string;
  /** Absent and empty differ; empty is invalid. */
  readonly subject?: string | undefined;
  /** The effective time; default: the recorded time. */
  readonly time?: EffectiveTime | undefined;
  /** Empty when there is no payload, or an empty one: the kind distinguishes them. */
  readonly data: Uint8Array;
  /** A `DATA_KIND`; another number is invalid. */
  readonly dataKind: number;
  readonly dataContentType?: string | undefined;
  readonly dataSchema?: string | undefined;
  readonly extensions: ReadonlyMap<string, ExtensionValue>;
}

export interface EffectiveTime {
  readonly instant: Instant;
  /** The original spelling, when it is not the canonical one. */
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

/** Fields that the server adds to an event in answers. */
export interface ServerFields {
  readonly revision: number;
  /** 0-based position in its transaction. */
  readonly index: number;
  readonly recordedTimeMs: number;
  /** Present where it differs from the client's id. */
  readonly storedId?: string | undefined;
}

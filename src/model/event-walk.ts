/**
 * Accepts the bytes of events: one walk over bytes that are canonical, and one decoding and encoding for other valid
 * bytes.
 *
 * Every stored event passed this walk (M1), whether it arrived over gRPC as `cairn.v1.Event`, as a CloudEvent, or as
 * JSON: the other forms are encoded first and then walked.
 */
import { assert } from '#base';
import type { Event } from './event.ts';
import { checkEvent } from './event-check.ts';
import { draftEvent } from './event-decode.ts';
import { encodeEvent } from './event-encode.ts';
import { layOutEvent } from './event-layout.ts';
import type { EventPlace } from './event-place.ts';
import type { EventFacts } from './event-spans.ts';

/**
 * Checks everything about the event in `[from, to)`. `'not-canonical'`: not checked yet, decode and encode it;
 * undefined: refused, with its faults added. The facts are lent until the next call.
 */
export function walkEvent(
  bytes: Uint8Array,
  from: number,
  to: number,
  place: EventPlace,
): EventFacts | 'not-canonical' | undefined {
  const layout = layOutEvent(bytes, from, to);
  if (layout === undefined) return 'not-canonical';
  const countBefore = place.faults.count;
  checkEvent(bytes, layout, place);
  return place.faults.count === countBefore ? layout : undefined;
}

/** The canonical bytes of an acceptable event: a view when the client sent these, else a copy. */
export function acceptEvent(bytes: Uint8Array, from: number, to: number, place: EventPlace): Uint8Array | undefined {
  const walked = walkEvent(bytes, from, to, place);
  if (walked === undefined) return undefined;
  if (walked !== 'not-canonical') return bytes.subarray(from, to);
  const countBefore = place.faults.count;
  const draft = draftEvent(bytes, from, to, place);
  const accepted = draft === undefined ? undefined : acceptDecoded(draft, place);
  return place.faults.count === countBefore ? accepted : undefined;
}

/** The canonical bytes of an acceptable event that was decoded from another form. */
export function acceptDecoded(event: Event, place: EventPlace): Uint8Array | undefined {
  const encoded = encodeEvent(event);
  const walked = walkEvent(encoded, 0, encoded.length, place);
  assert(walked !== 'not-canonical', 'What encodeEvent writes is canonical');
  return walked === undefined ? undefined : encoded;
}

/**
 * Where in a request an event stands, so that its faults can name it, and where they go.
 * The path is put together only when there is a fault.
 */
import { decodeUtf8, toHex } from '#base';
import type { Faults } from './faults.ts';
import { FAULT_VALUE_LENGTH_MAX } from './limits.ts';

export interface EventPlace {
  readonly faults: Faults;
  /** Path of the list in the request's own words, such as `events` or `transaction.events`. */
  readonly list: string;
  /** 0-based. */
  readonly index: number;
}

/** Adds a fault of one attribute, named as CloudEvents names it (`events[3].subject`). Returns undefined. */
export function addEventFault(place: EventPlace, attribute: string, description: string, value?: string): undefined {
  const path = `${place.list}[${place.index}]`;
  return place.faults.add(attribute === '' ? path : `${path}.${attribute}`, description, value);
}

/**
 * A value that every rule of the attribute accepts. It takes the place of one that was reported already and cannot be
 * kept, so that the walk goes on and finds the other faults of the event.
 */
export function standInFor(attribute: string): string {
  if (attribute === 'specversion') return '1.0';
  return attribute === 'datacontenttype' ? 'a/b' : 'x:x';
}

/** Bytes for a message: as text when they are text, else in hexadecimal. */
export function showBytes(bytes: Uint8Array, from: number = 0, to: number = bytes.length): string {
  const text = decodeUtf8(bytes, from, to);
  return text ?? `0x${toHex(bytes.subarray(from, Math.min(to, from + FAULT_VALUE_LENGTH_MAX)))}`;
}

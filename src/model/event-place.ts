/**
 * Position of an event in a request, from which the field paths of its faults are built.
 */
import { decodeUtf8, quote, toHex } from '#base';
import type { Faults, Found } from './faults.ts';
import { FAULT_FIELD_LENGTH_MAX, FAULT_VALUE_LENGTH_MAX } from './limits.ts';

/** The message type in which an event was sent; its faults name the fields of that type. */
export type EventShape = 'cairn.v1.Event' | 'io.cloudevents.v1.CloudEvent';

export interface EventPlace {
  readonly faults: Faults;
  /** Path of the list in the request, such as `events` or `transaction.events`. */
  readonly list: string;
  /** 0-based. */
  readonly index: number;
  /** Absent: the event was sent as JSON, with members named as in CloudEvents. */
  readonly shape?: EventShape;
}

/** The map of attributes of a message type, and the fields whose names differ from the attribute. */
interface FieldNames {
  readonly map: string;
  readonly fields: ReadonlyMap<string, string>;
}

const JSON_NAMES: FieldNames = { map: '', fields: new Map([['extensions', '']]) };

const FIELD_NAMES: Readonly<Record<EventShape, FieldNames>> = {
  'cairn.v1.Event': {
    map: 'extensions',
    fields: new Map([
      ['specversion', 'spec_version'],
      ['type', 'ty'],
      ['recordedtime', 'recorded_time'],
    ]),
  },
  'io.cloudevents.v1.CloudEvent': {
    map: 'attributes',
    fields: new Map([
      ['specversion', 'spec_version'],
      ['subject', 'attributes["subject"]'],
      ['time', 'attributes["time"]'],
      // The original spelling is the same attribute there.
      ['time_text', 'attributes["time"]'],
      ['datacontenttype', 'attributes["datacontenttype"]'],
      ['dataschema', 'attributes["dataschema"]'],
      ['extensions', 'attributes'],
      ['data', 'text_data'],
    ]),
  },
};

function namesOf({ shape }: EventPlace): FieldNames {
  return shape === undefined ? JSON_NAMES : FIELD_NAMES[shape];
}

/**
 * Adds a fault of an attribute, given by its CloudEvents name; the fault names the field that was sent
 * (`events[3].subject`, `events[3].ty`). An empty name is the event itself. Returns undefined.
 */
export function addEventFault(place: EventPlace, attribute: string, description: string, found?: Found): undefined {
  const field = namesOf(place).fields.get(attribute) ?? attribute;
  return addFault(place, field, description, found);
}

/** Adds a fault of a value in a map of attributes, whose key may equal a field name. Returns undefined. */
export function addEntryFault(place: EventPlace, name: string, description: string, found?: Found): undefined {
  const { map } = namesOf(place);
  if (name === '') return addFault(place, map, description, found);
  return place.shape === undefined
    ? addFault(place, name, description, found)
    : addFault(place, entryField(map, name), description, found);
}

/** Adds a fault of an invalid extension name. Returns undefined. */
export function addEntryNameFault(place: EventPlace, name: string, description: string): undefined {
  return place.shape === undefined
    ? addFault(place, memberField(name), description)
    : addFault(place, entryField(namesOf(place).map, name), description);
}

/** Path of a member of a JSON event, which has no map of attributes. */
function memberField(name: string): string {
  return /^\w+$/.test(name) ? name : entryField('', name);
}

function entryField(map: string, name: string): string {
  return `${map}[${quote(name, FAULT_FIELD_LENGTH_MAX)}]`;
}

function addFault({ faults, list, index }: EventPlace, field: string, description: string, found?: Found): undefined {
  const path = `${list}[${index}]`;
  const isBelow = field !== '' && !field.startsWith('[');
  return faults.add(isBelow ? `${path}.${field}` : `${path}${field}`, description, found);
}

/** A valid value of the attribute, which replaces a reported one so that the walk finds further faults of the event. */
export function standInFor(attribute: string): string {
  if (attribute === 'specversion') return '1.0';
  return attribute === 'datacontenttype' ? 'a/b' : 'x:x';
}

/** Bytes for a fault: a text when they are one, else in hexadecimal. */
export function foundBytes(bytes: Uint8Array, from: number, to: number): Found {
  return decodeUtf8(bytes, from, to) ?? { said: showBytes(bytes, from, to) };
}

/** Bytes for a message: as text when they are text, else in hexadecimal. */
export function showBytes(bytes: Uint8Array, from: number = 0, to: number = bytes.length): string {
  const text = decodeUtf8(bytes, from, to);
  return text ?? `0x${toHex(bytes.subarray(from, Math.min(to, from + FAULT_VALUE_LENGTH_MAX)))}`;
}

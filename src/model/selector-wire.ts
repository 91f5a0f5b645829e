/**
 * `cairn.v1.EventSelector` and `EventSelection`. Reads the flat form, which means And, and the nested one, in any valid
 * protobuf without unknown fields; writes the nested form of a canonical selector, so that equal selectors have equal
 * bytes (M6). Only the selector of a State View may have parameters.
 */
import {
  ByteWriter,
  beginMessage,
  decodeUtf8,
  ProtoReader,
  unreachable,
  writeTextField,
  writeVarintField,
} from '#base';
import { foundBytes } from './event-place.ts';
import type { Faults } from './faults.ts';
import {
  ALL,
  and,
  NO_SUBJECT,
  or,
  type ParameterSelector,
  type Selector,
  type SelectorTemplate,
  TERM_KINDS,
  type TermKind,
} from './selector.ts';
import { SelectorReading } from './selector-rules.ts';
import { refuseField } from './unknown-field.ts';

interface TermField {
  readonly kind: TermKind;
  readonly name: string;
}

/** Keyed on the tag. */
const FLAT_FIELDS: ReadonlyMap<number, TermField> = new Map([
  [0x0a, { kind: 'by-stream', name: 'stream' }],
  [0x12, { kind: 'by-type', name: 'event_type' }],
  [0x1a, { kind: 'by-subject', name: 'subject' }],
  [0x22, { kind: 'by-source', name: 'source' }],
]);

/** Keyed on the tag. */
const KIND_FIELDS: ReadonlyMap<number, TermField> = new Map([
  [0x52, { kind: 'by-type', name: 'by_type' }],
  [0x5a, { kind: 'by-type-prefix', name: 'by_type_prefix' }],
  [0x62, { kind: 'by-stream', name: 'by_stream' }],
  [0x6a, { kind: 'by-stream-prefix', name: 'by_stream_prefix' }],
  [0x72, { kind: 'by-subject', name: 'by_subject' }],
  [0x7a, { kind: 'by-subject-prefix', name: 'by_subject_prefix' }],
  [0x82, { kind: 'by-source', name: 'by_source' }],
]);

const NO_SUBJECT_TAG = 0x8a;
const AND_TAG = 0x92;
const OR_TAG = 0x9a;
/** Fields of a State View's selector only. */
const PARAMETER_TAG = 0xaa;
const SELECTORS_TAG = 0x0a;
const PARAMETER_NAME_TAG = 0x0a;
const PARAMETER_TERM_TAG = 0x10;

const FIELD_OF_KIND: ReadonlyMap<TermKind, number> = new Map(
  Array.from(KIND_FIELDS, ([tag, { kind }]) => [kind, tag >>> 3] as const),
);

/** The selector of a request, or undefined with faults added. */
export function decodeSelector(bytes: Uint8Array, field: string, faults: Faults): Selector | undefined {
  const reading = new SelectorReading(field, faults);
  return reading.finish(readSelector(new ProtoReader(bytes), { reading, field, depth: 1 }));
}

/** The selectors of a selection, any of which may match; an empty selection selects every event. */
export function decodeSelection(bytes: Uint8Array, field: string, faults: Faults): Selector | undefined {
  const reading = new SelectorReading(field, faults);
  return reading.finish(selectionIn(bytes, reading, field));
}

/** The selection of a State View. */
export function decodeTemplateSelection(
  bytes: Uint8Array,
  field: string,
  faults: Faults,
): SelectorTemplate | undefined {
  const reading = new SelectorReading(field, faults, { isTemplate: true });
  return reading.finishTemplate(selectionIn(bytes, reading, field));
}

/** The template of a State View, or undefined with faults added. */
export function decodeTemplate(bytes: Uint8Array, field: string, faults: Faults): SelectorTemplate | undefined {
  const reading = new SelectorReading(field, faults, { isTemplate: true });
  return reading.finishTemplate(readSelector(new ProtoReader(bytes), { reading, field, depth: 1 }));
}

function selectionIn(bytes: Uint8Array, reading: SelectorReading, field: string): SelectorTemplate | undefined {
  const reader = new ProtoReader(bytes);
  const selectors = readSelectorList(reader, { reading, field, depth: 1 }, 'cairn.v1.EventSelection');
  if (reader.failed) return reading.faults.add(field, 'must be a protobuf message of cairn.v1.EventSelection');
  return selectors && (selectors.length === 0 ? ALL : or(selectors));
}

export function encodeSelector(selector: SelectorTemplate): Uint8Array {
  const writer = new ByteWriter();
  writeSelector(writer, selector);
  return writer.take();
}

/** The message without tag and length. */
export function writeSelector(writer: ByteWriter, selector: SelectorTemplate): void {
  switch (selector.kind) {
    case 'all':
      return;
    case 'no-subject':
      writer.endLength(beginMessage(writer, NO_SUBJECT_TAG >>> 3));
      return;
    case 'and':
    case 'or': {
      const list = beginMessage(writer, (selector.kind === 'and' ? AND_TAG : OR_TAG) >>> 3);
      for (const part of selector.selectors) {
        const mark = beginMessage(writer, SELECTORS_TAG >>> 3);
        writeSelector(writer, part);
        writer.endLength(mark);
      }
      writer.endLength(list);
      return;
    }
    case 'parameter': {
      const mark = beginMessage(writer, PARAMETER_TAG >>> 3);
      writeTextField(writer, PARAMETER_NAME_TAG >>> 3, selector.name);
      writeVarintField(writer, PARAMETER_TERM_TAG >>> 3, TERM_KINDS.indexOf(selector.term) + 1);
      writer.endLength(mark);
      return;
    }
    case 'by-stream':
    case 'by-stream-prefix':
    case 'by-type':
    case 'by-type-prefix':
    case 'by-subject':
    case 'by-subject-prefix':
    case 'by-source':
      writeTextField(writer, FIELD_OF_KIND.get(selector.kind) ?? 0, selector.value);
      return;
    default:
      unreachable(selector);
  }
}

/** Path and depth of the selector that is being read. */
interface Place {
  readonly reading: SelectorReading;
  readonly field: string;
  readonly depth: number;
}

function placeOf({ field, reading }: Place): { readonly field: string; readonly faults: Faults } {
  return { field, faults: reading.faults };
}

const NOTHING: readonly SelectorTemplate[] = [];

interface Draft {
  /** Fields of the flat form, one for each attribute: the last one wins. */
  flat: readonly SelectorTemplate[];
  /** The nested form. The last kind wins; the lists of an And or Or in several parts are concatenated. */
  nested: { readonly tag: number; readonly selectors: readonly SelectorTemplate[] } | undefined;
}

function readSelector(reader: ProtoReader, place: Place): SelectorTemplate | undefined {
  const { reading, field, depth } = place;
  if (!reading.enter(depth)) return undefined;
  const countBefore = reading.faults.count;
  const draft: Draft = { flat: NOTHING, nested: undefined };
  while (!reader.done) {
    if (!reading.takesField()) return undefined;
    readField(reader, draft, place);
  }
  if (reader.failed) return reading.faults.add(field, 'must be a protobuf message of cairn.v1.EventSelector');
  if (draft.nested !== undefined && draft.flat.length > 0) {
    return reading.faults.add(field, 'must have either flat attributes or one nested kind, not both');
  }
  return reading.faults.count === countBefore ? selectorOf(draft) : undefined;
}

function selectorOf({ flat, nested }: Draft): SelectorTemplate {
  if (nested === undefined) return and(flat);
  const [only] = nested.selectors;
  if (nested.tag === AND_TAG) return and(nested.selectors);
  return nested.tag === OR_TAG || only === undefined ? or(nested.selectors) : only;
}

function readField(reader: ProtoReader, draft: Draft, place: Place): void {
  const tag = reader.tag();
  const flat = FLAT_FIELDS.get(tag);
  const kind = KIND_FIELDS.get(tag);
  if (flat !== undefined) {
    const selector = readTerm(reader, flat, place);
    if (selector !== undefined) draft.flat = [...draft.flat.filter((other) => other.kind !== flat.kind), selector];
  } else if (kind !== undefined) {
    const selector = readTerm(reader, kind, place);
    if (selector !== undefined) draft.nested = { tag, selectors: [selector] };
  } else if (tag === NO_SUBJECT_TAG) {
    reader.lengthDelimited();
    draft.nested = { tag, selectors: [NO_SUBJECT] };
  } else if (tag === AND_TAG || tag === OR_TAG) readParts(reader, tag, { draft, place });
  else if (tag === PARAMETER_TAG) {
    const open = readParameter(reader, place);
    if (open !== undefined) draft.nested = { tag, selectors: [open] };
  } else refuseField(reader, tag, { ...placeOf(place), type: 'cairn.v1.EventSelector' });
}

function readTerm(reader: ProtoReader, { kind, name }: TermField, { reading, field }: Place): Selector | undefined {
  const start = reader.lengthDelimited();
  if (reader.failed) return undefined;
  const text = decodeUtf8(reader.bytes, start, reader.at);
  const path = `${field}.${name}`;
  return text === undefined
    ? reading.faults.add(path, 'must be well-formed UTF-8', foundBytes(reader.bytes, start, reader.at))
    : reading.term(kind, text, path);
}

function readParameter(reader: ProtoReader, { reading, field }: Place): ParameterSelector | undefined {
  const start = reader.lengthDelimited();
  if (reader.failed) return undefined;
  const message = new ProtoReader(reader.bytes, start, reader.at);
  const path = `${field}.parameter`;
  let [name, number] = ['', 0];
  while (!message.done) {
    if (!reading.takesField()) return undefined;
    const tag = message.tag();
    if (tag === PARAMETER_NAME_TAG) {
      const from = message.lengthDelimited();
      name = decodeUtf8(message.bytes, from, message.at) ?? '';
    } else if (tag === PARAMETER_TERM_TAG) number = message.varint();
    else refuseField(message, tag, { field: path, faults: reading.faults, type: 'cairn.v1.SelectorParameter' });
  }
  if (message.failed) reader.fail();
  const kind = TERM_KINDS[number - 1];
  if (kind !== undefined) return reading.parameter(kind, name, path);
  return reading.faults.add(`${path}.term`, `must be 1 to ${TERM_KINDS.length - 1}`, number);
}

interface Parts {
  readonly draft: Draft;
  readonly place: Place;
}

function readParts(reader: ProtoReader, tag: number, { draft, place }: Parts): void {
  const { reading, depth } = place;
  const field = `${place.field}.${tag === AND_TAG ? 'and' : 'or'}`;
  const start = reader.lengthDelimited();
  if (reader.failed) return;
  const list = new ProtoReader(reader.bytes, start, reader.at);
  const selectors = readSelectorList(list, { reading, field, depth: depth + 1 }, 'cairn.v1.EventSelectors');
  if (list.failed) reader.fail();
  if (selectors === undefined || list.failed) return;
  const earlier = draft.nested?.tag === tag ? draft.nested.selectors : [];
  if (earlier.length + selectors.length === 0) reading.faults.add(field, 'must have at least one selector');
  else draft.nested = { tag, selectors: [...earlier, ...selectors] };
}

/** The repeated field 1 of EventSelectors and EventSelection. */
function readSelectorList(reader: ProtoReader, place: Place, type: string): readonly SelectorTemplate[] | undefined {
  const { reading, field, depth } = place;
  const countBefore = reading.faults.count;
  const selectors: SelectorTemplate[] = [];
  let count = 0;
  while (!reader.done) {
    if (!reading.takesField()) return undefined;
    const tag = reader.tag();
    if (tag !== SELECTORS_TAG) {
      refuseField(reader, tag, { ...placeOf(place), type });
      continue;
    }
    const start = reader.lengthDelimited();
    const part = new ProtoReader(reader.bytes, start, reader.at);
    const selector = readSelector(part, { reading, field: `${field}.selectors[${count}]`, depth });
    count++;
    if (selector !== undefined) selectors.push(selector);
  }
  return selectors.length === count && reading.faults.count === countBefore ? selectors : undefined;
}

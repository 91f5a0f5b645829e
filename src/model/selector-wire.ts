/**
 * `cairn.v1.EventSelector` and `EventSelection`. Reads the flat form, which means And, and the nested one, in any valid
 * protobuf without unknown fields; writes the nested form of a canonical selector, so that equal selectors have equal
 * bytes (M6). Only the selector of a State View may have parameters.
 */
import { ByteWriter, beginMessage, decodeUtf8, ProtoReader, WIRE_BYTES, writeTextField, writeVarintField } from '#base';
import type { FaultPlace, Faults } from './faults.ts';
import { refuseField, textField } from './message-fields.ts';
import {
  ALL,
  and,
  isTerm,
  NO_SUBJECT,
  or,
  type ParameterSelector,
  type Selector,
  type SelectorTemplate,
  TERM_KINDS,
  type TermKind,
} from './selector.ts';
import { SelectorReading } from './selector-rules.ts';

interface TermField {
  readonly kind: TermKind;
  readonly name: string;
}

/** The flat form, by tag. */
const FLAT_FIELDS: ReadonlyMap<number, TermField> = new Map([
  [0x0a, { kind: 'by-stream', name: 'stream' }],
  [0x12, { kind: 'by-type', name: 'event_type' }],
  [0x1a, { kind: 'by-subject', name: 'subject' }],
  [0x22, { kind: 'by-source', name: 'source' }],
]);

/** Field numbers of the nested form. */
const KIND_FIELDS: Readonly<Record<TermKind, number>> = {
  'by-type': 10,
  'by-type-prefix': 11,
  'by-stream': 12,
  'by-stream-prefix': 13,
  'by-subject': 14,
  'by-subject-prefix': 15,
  'by-source': 16,
};

/** All terms by tag. */
const TERM_FIELDS: ReadonlyMap<number, TermField> = new Map([
  ...FLAT_FIELDS,
  ...TERM_KINDS.map((kind) => [KIND_FIELDS[kind] * 8 + WIRE_BYTES, { kind, name: kind.replaceAll('-', '_') }] as const),
]);

const NO_SUBJECT_TAG = 0x8a;
const AND_TAG = 0x92;
const OR_TAG = 0x9a;
/** Fields of a State View's selector only. */
const PARAMETER_TAG = 0xaa;
const SELECTORS_TAG = 0x0a;
const PARAMETER_NAME_TAG = 0x0a;
const PARAMETER_TERM_TAG = 0x10;

/** The selector of a request, or undefined with faults added. */
export function decodeSelector(bytes: Uint8Array, field: string, faults: Faults): Selector | undefined {
  const reading = new SelectorReading(field, faults);
  return reading.finish(readSelector(new ProtoReader(bytes), { reading, field, faults, depth: 1 }));
}

/** The selectors of a selection, any of which may match; an empty selection selects every event. */
export function decodeSelection(bytes: Uint8Array, field: string, faults: Faults): Selector | undefined {
  const reading = new SelectorReading(field, faults);
  return reading.finish(selectionIn(bytes, { reading, field, faults, depth: 1 }));
}

/** The selection of a State View. */
export function decodeTemplateSelection(
  bytes: Uint8Array,
  field: string,
  faults: Faults,
): SelectorTemplate | undefined {
  const reading = new SelectorReading(field, faults, { isTemplate: true });
  return reading.finishTemplate(selectionIn(bytes, { reading, field, faults, depth: 1 }));
}

/** The template of a State View, or undefined with faults added. */
export function decodeTemplate(bytes: Uint8Array, field: string, faults: Faults): SelectorTemplate | undefined {
  const reading = new SelectorReading(field, faults, { isTemplate: true });
  return reading.finishTemplate(readSelector(new ProtoReader(bytes), { reading, field, faults, depth: 1 }));
}

function selectionIn(bytes: Uint8Array, place: Place): SelectorTemplate | undefined {
  const reader = new ProtoReader(bytes);
  const selectors = readSelectorList(reader, place, 'cairn.v1.EventSelection');
  if (reader.failed) return place.faults.add(place.field, 'must be a protobuf message of cairn.v1.EventSelection');
  return selectors && (selectors.length === 0 ? ALL : or(selectors));
}

export function encodeSelector(selector: SelectorTemplate): Uint8Array {
  const writer = new ByteWriter();
  writeSelector(writer, selector);
  return writer.take();
}

/** The message without tag and length. */
export function writeSelector(writer: ByteWriter, selector: SelectorTemplate): void {
  if (isTerm(selector)) {
    writeTextField(writer, KIND_FIELDS[selector.kind], selector.value);
    return;
  }
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
  }
}

/** Path and depth of the selector that is being read. */
interface Place extends FaultPlace {
  readonly reading: SelectorReading;
  readonly depth: number;
}

const NOTHING: readonly SelectorTemplate[] = [];

interface Draft {
  /** Fields of the flat form, one for each attribute: the last one wins. */
  flat: readonly SelectorTemplate[];
  /** The nested form. The last kind wins; the lists of an And or Or in several parts are concatenated. */
  nested: { readonly tag: number; readonly selectors: readonly SelectorTemplate[] } | undefined;
}

function readSelector(reader: ProtoReader, place: Place): SelectorTemplate | undefined {
  const { reading, field, faults, depth } = place;
  if (!reading.enter(depth)) return undefined;
  const countBefore = faults.count;
  const draft: Draft = { flat: NOTHING, nested: undefined };
  while (!reader.done) {
    if (!reading.takesField()) return undefined;
    readField(reader, draft, place);
  }
  if (reader.failed) return faults.add(field, 'must be a protobuf message of cairn.v1.EventSelector');
  if (draft.nested !== undefined && draft.flat.length > 0) {
    return faults.add(field, 'must have either flat attributes or one nested kind, not both');
  }
  return faults.count === countBefore ? selectorOf(draft) : undefined;
}

function selectorOf({ flat, nested }: Draft): SelectorTemplate {
  if (nested === undefined) return and(flat);
  const [only] = nested.selectors;
  if (nested.tag === AND_TAG) return and(nested.selectors);
  return nested.tag === OR_TAG || only === undefined ? or(nested.selectors) : only;
}

function readField(reader: ProtoReader, draft: Draft, place: Place): void {
  const tag = reader.tag();
  const named = TERM_FIELDS.get(tag);
  if (named !== undefined) {
    const selector = readTerm(reader, named, place);
    if (selector === undefined) return;
    if (!FLAT_FIELDS.has(tag)) draft.nested = { tag, selectors: [selector] };
    else draft.flat = [...draft.flat.filter(({ kind }) => kind !== named.kind), selector];
  } else if (tag === NO_SUBJECT_TAG) {
    reader.lengthDelimited();
    draft.nested = { tag, selectors: [NO_SUBJECT] };
  } else if (tag === AND_TAG || tag === OR_TAG) readParts(reader, tag, draft, place);
  else if (tag === PARAMETER_TAG) {
    const open = readParameter(reader, place);
    if (open !== undefined) draft.nested = { tag, selectors: [open] };
  } else refuseField(reader, tag, { ...place, type: 'cairn.v1.EventSelector' });
}

function readTerm(reader: ProtoReader, { kind, name }: TermField, place: Place): Selector | undefined {
  const path = `${place.field}.${name}`;
  const text = textField(reader, path, place.faults);
  return text === undefined ? undefined : place.reading.term(kind, text, path);
}

function readParameter(reader: ProtoReader, { reading, field, faults }: Place): ParameterSelector | undefined {
  const message = reader.message();
  if (reader.failed) return undefined;
  const path = `${field}.parameter`;
  let [name, number] = ['', 0];
  while (!message.done) {
    if (!reading.takesField()) return undefined;
    const tag = message.tag();
    if (tag === PARAMETER_NAME_TAG) name = decodeUtf8(message.view()) ?? '';
    else if (tag === PARAMETER_TERM_TAG) number = message.varint();
    else refuseField(message, tag, { field: path, faults, type: 'cairn.v1.SelectorParameter' });
  }
  if (message.failed) reader.fail();
  const kind = TERM_KINDS[number - 1];
  if (kind !== undefined) return reading.parameter(kind, name, path);
  return faults.add(`${path}.term`, `must be 1 to ${TERM_KINDS.length - 1}`, number);
}

function readParts(reader: ProtoReader, tag: number, draft: Draft, place: Place): void {
  const field = `${place.field}.${tag === AND_TAG ? 'and' : 'or'}`;
  const list = reader.message();
  if (reader.failed) return;
  const selectors = readSelectorList(list, { ...place, field, depth: place.depth + 1 }, 'cairn.v1.EventSelectors');
  if (list.failed) reader.fail();
  if (selectors === undefined || list.failed) return;
  const earlier = draft.nested?.tag === tag ? draft.nested.selectors : [];
  if (earlier.length + selectors.length === 0) place.faults.add(field, 'must have at least one selector');
  else draft.nested = { tag, selectors: [...earlier, ...selectors] };
}

/** The repeated field 1 of EventSelectors and EventSelection. */
function readSelectorList(reader: ProtoReader, place: Place, type: string): readonly SelectorTemplate[] | undefined {
  const { reading, field, faults } = place;
  const countBefore = faults.count;
  const selectors: SelectorTemplate[] = [];
  let count = 0;
  while (!reader.done) {
    if (!reading.takesField()) return undefined;
    const tag = reader.tag();
    if (tag !== SELECTORS_TAG) {
      refuseField(reader, tag, { ...place, type });
      continue;
    }
    const selector = readSelector(reader.message(), { ...place, field: `${field}.selectors[${count}]` });
    count++;
    if (selector !== undefined) selectors.push(selector);
  }
  return selectors.length === count && faults.count === countBefore ? selectors : undefined;
}

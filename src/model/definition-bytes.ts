/**
 * Definitions as bytes, in log entries and rows (docs/formats/definitions.md).
 *
 * ```
 * u8 format = 1 | u8 kind | text name | text? description | text? source code
 * kind 1, State View:    varint length, cairn.v1.EventSelector | u8 order | u8 key type | text reduce function
 *                        | text content type | u8 schema: 0 none, 1 text URI, 2 varint length, bytes
 *                        | u8 priority | u8 presenter: 0 none, 1 text name, varint version, 0 for the latest
 * kind 2, State Change:  varint count, each text name of a State View
 * kind 3, presenter:     varint count, each text content type, text? schema | varint count, each text key, text value
 * text = varint length, UTF-8;  text? = u8 0, or u8 1 and a text;  words by their place in the order of definition.ts
 * ```
 * Only the canonical bytes of a valid definition are read (M9), so that replicas can be compared byte by byte.
 */
import { ByteReader, ByteWriter, compareBytes, decodeUtf8, encodeUtf8 } from '#base';
import {
  COMPONENT_KINDS,
  type ContentSchema,
  type Definition,
  FOLD_ORDERS,
  isVersionNumber,
  KEY_TYPES,
  type OfferedContent,
  PRIORITIES,
  type PresenterDefinition,
  type PresenterReference,
  type StateChangeDefinition,
  type StateViewDefinition,
} from './definition.ts';
import { canonicalNames, checkDefinition } from './definition-rules.ts';
import { Faults } from './faults.ts';
import { type ComponentName, isComponentName } from './names.ts';
import { decodeTemplate, encodeSelector } from './selector-wire.ts';

const FORMAT = 1;

export function encodeDefinition(definition: Definition): Uint8Array {
  const writer = new ByteWriter(256);
  writer.u8(FORMAT);
  writer.u8(COMPONENT_KINDS.indexOf(definition.kind) + 1);
  writeText(writer, definition.name);
  writeOptional(writer, definition.description);
  writeOptional(writer, definition.sourceCodeUri);
  if (definition.kind === 'state-view') writeStateView(writer, definition);
  else if (definition.kind === 'state-change') {
    writer.varint(definition.stateViews.length);
    for (const name of definition.stateViews) writeText(writer, name);
  } else writePresenter(writer, definition);
  return writer.take();
}

/** Undefined unless the bytes are the encoding of a valid definition. Accepts any bytes. */
export function decodeDefinition(bytes: Uint8Array): Definition | undefined {
  const reader = new ByteReader(bytes);
  if (reader.u8() !== FORMAT) return undefined;
  const definition = readDefinition(reader);
  if (definition === undefined || reader.failed || reader.left > 0) return undefined;
  const faults = new Faults();
  checkDefinition(definition, { field: '', faults });
  return faults.none && compareBytes(encodeDefinition(definition), bytes) === 0 ? definition : undefined;
}

function writeStateView(writer: ByteWriter, view: StateViewDefinition): void {
  writeBytes(writer, encodeSelector(view.selector));
  writer.u8(FOLD_ORDERS.indexOf(view.order));
  writer.u8(KEY_TYPES.indexOf(view.keyType));
  writeText(writer, view.reduceFunction);
  writeText(writer, view.contentType);
  writeSchema(writer, view.schema);
  writer.u8(PRIORITIES.indexOf(view.priority));
  writer.u8(view.presenter === undefined ? 0 : 1);
  if (view.presenter === undefined) return;
  writeText(writer, view.presenter.name);
  writer.varint(view.presenter.version ?? 0);
}

function writeSchema(writer: ByteWriter, schema: ContentSchema | undefined): void {
  if (schema === undefined) writer.u8(0);
  else if (schema.kind === 'uri') {
    writer.u8(1);
    writeText(writer, schema.uri);
  } else {
    writer.u8(2);
    writeBytes(writer, schema.bytes);
  }
}

function writePresenter(writer: ByteWriter, { offers, settings }: PresenterDefinition): void {
  writer.varint(offers.length);
  for (const { contentType, schema } of offers) {
    writeText(writer, contentType);
    writeOptional(writer, schema);
  }
  writer.varint(settings.size);
  for (const { key, value } of sortedSettings(settings)) {
    writeBytes(writer, key);
    writeText(writer, value);
  }
}

function sortedSettings(
  settings: ReadonlyMap<string, string>,
): readonly { readonly key: Uint8Array; readonly value: string }[] {
  const encoded = Array.from(settings, ([key, value]) => ({ key: encodeUtf8(key), value }));
  return encoded.toSorted((left, right) => compareBytes(left.key, right.key));
}

function readDefinition(reader: ByteReader): Definition | undefined {
  const kind = COMPONENT_KINDS[reader.u8() - 1];
  const name = readText(reader);
  if (name === undefined || !isComponentName(name)) return undefined;
  const head = { name, description: readOptional(reader), sourceCodeUri: readOptional(reader) };
  if (kind === 'state-view') return readStateView(reader, head);
  if (kind === 'state-change') return readStateChange(reader, head);
  return kind === 'presenter' ? readPresenter(reader, head) : undefined;
}

type Head = Pick<Definition, 'name' | 'description' | 'sourceCodeUri'>;

function readStateView(reader: ByteReader, head: Head): StateViewDefinition | undefined {
  const selector = decodeTemplate(reader.bytes(reader.varint()), 'selector', new Faults());
  const order = FOLD_ORDERS[reader.u8()];
  const keyType = KEY_TYPES[reader.u8()];
  const reduceFunction = readText(reader);
  const contentType = readText(reader);
  const schema = readSchema(reader);
  const priority = PRIORITIES[reader.u8()];
  const presenter = readPresenterReference(reader);
  if (selector === undefined || order === undefined || keyType === undefined || priority === undefined)
    return undefined;
  if (reduceFunction === undefined || contentType === undefined) return undefined;
  const kept = { selector, order, keyType, reduceFunction, contentType, schema, priority, presenter };
  return { kind: 'state-view', ...head, ...kept };
}

/** Fails the reader for any other form. */
function readSchema(reader: ByteReader): ContentSchema | undefined {
  const form = reader.u8();
  if (form === 1) return { kind: 'uri', uri: readText(reader) ?? '' };
  if (form === 2) return { kind: 'held', bytes: reader.bytes(reader.varint()).slice() };
  if (form !== 0) reader.skip(reader.left + 1);
  return undefined;
}

/** Fails the reader for any other form. */
function readPresenterReference(reader: ByteReader): PresenterReference | undefined {
  if (reader.u8() !== 1) return undefined;
  const name = readText(reader);
  const version = reader.varint();
  if (name !== undefined && isComponentName(name))
    return { name, version: isVersionNumber(version) ? version : undefined };
  reader.skip(reader.left + 1);
  return undefined;
}

function readStateChange(reader: ByteReader, head: Head): StateChangeDefinition | undefined {
  const names: ComponentName[] = [];
  const count = reader.varint();
  while (names.length < count && !reader.failed) {
    const name = readText(reader);
    if (name === undefined || !isComponentName(name)) return undefined;
    names.push(name);
  }
  return { kind: 'state-change', ...head, stateViews: canonicalNames(names) };
}

function readPresenter(reader: ByteReader, head: Head): PresenterDefinition | undefined {
  const offers: OfferedContent[] = [];
  const offerCount = reader.varint();
  while (offers.length < offerCount && !reader.failed) {
    const contentType = readText(reader) ?? '';
    offers.push({ contentType, schema: readOptional(reader) });
  }
  const settings = new Map<string, string>();
  for (let left = reader.varint(); left > 0 && !reader.failed; left--) {
    const key = readText(reader) ?? '';
    settings.set(key, readText(reader) ?? '');
  }
  return reader.failed ? undefined : { kind: 'presenter', ...head, offers, settings };
}

function writeBytes(writer: ByteWriter, bytes: Uint8Array): void {
  writer.varint(bytes.length);
  writer.bytes(bytes);
}

function writeText(writer: ByteWriter, text: string): void {
  writeBytes(writer, encodeUtf8(text));
}

function writeOptional(writer: ByteWriter, text: string | undefined): void {
  writer.u8(text === undefined ? 0 : 1);
  if (text !== undefined) writeText(writer, text);
}

/** Undefined for invalid UTF-8. */
function readText(reader: ByteReader): string | undefined {
  const bytes = reader.bytes(reader.varint());
  return decodeUtf8(bytes, 0, bytes.length);
}

function readOptional(reader: ByteReader): string | undefined {
  return reader.u8() === 1 ? readText(reader) : undefined;
}

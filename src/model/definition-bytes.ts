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
import {
  BYTES,
  ByteReader,
  ByteWriter,
  compareBytes,
  encodeUtf8,
  type Field,
  fieldsOf,
  kindsOf,
  listOf,
  mapped,
  oneOf,
  optional,
  TEXT,
  VARINT,
  VIEW,
  valid,
} from '#base';
import {
  type ContentSchema,
  type Definition,
  FOLD_ORDERS,
  isVersionNumber,
  KEY_TYPES,
  type OfferedContent,
  PRIORITIES,
  type PresenterReference,
  type VersionNumber,
} from './definition.ts';
import { canonicalNames, checkDefinition } from './definition-rules.ts';
import { Faults } from './faults.ts';
import { type ComponentName, isComponentName } from './names.ts';
import type { SelectorTemplate } from './selector.ts';
import { decodeTemplate, encodeSelector } from './selector-wire.ts';

const FORMAT = 1;

export const COMPONENT_NAME: Field<ComponentName> = valid(TEXT, isComponentName);

/** 0 for none. */
export const VERSION_OR_NONE: Field<VersionNumber | undefined> = {
  write: (writer, version) => writer.varint(version ?? 0),
  read: (reader) => {
    const version = VARINT.read(reader);
    return isVersionNumber(version) ? version : undefined;
  },
};

const SELECTOR: Field<SelectorTemplate> = mapped(VIEW, encodeSelector, (bytes) =>
  decodeTemplate(bytes, 'selector', new Faults()),
);

const SOME_SCHEMA = kindsOf<ContentSchema>({ uri: [1, { uri: TEXT }], held: [2, { bytes: BYTES }] });
const SCHEMA: Field<ContentSchema | undefined> = {
  write: (writer, schema) => (schema === undefined ? writer.u8(0) : SOME_SCHEMA.write(writer, schema)),
  read: (reader) => {
    if (reader.source[reader.at] !== 0) return SOME_SCHEMA.read(reader);
    reader.skip(1);
    return undefined;
  },
};

/** Sorted by the bytes of the keys. */
const SETTINGS: Field<ReadonlyMap<string, string>> = mapped(
  listOf(fieldsOf<{ readonly key: string; readonly value: string }>({ key: TEXT, value: TEXT })),
  (settings) => {
    const encoded = Array.from(settings, ([key, value]) => ({ key, value, bytes: encodeUtf8(key) }));
    return encoded.toSorted((left, right) => compareBytes(left.bytes, right.bytes));
  },
  (pairs) => new Map(pairs.map(({ key, value }) => [key, value])),
);

const HEAD = { name: COMPONENT_NAME, description: optional(TEXT), sourceCodeUri: optional(TEXT) };

const DEFINITION = kindsOf<Definition>({
  'state-view': [
    1,
    {
      ...HEAD,
      selector: SELECTOR,
      order: oneOf(FOLD_ORDERS),
      keyType: oneOf(KEY_TYPES),
      reduceFunction: TEXT,
      contentType: TEXT,
      schema: SCHEMA,
      priority: oneOf(PRIORITIES),
      presenter: optional(fieldsOf<PresenterReference>({ name: COMPONENT_NAME, version: VERSION_OR_NONE })),
    },
  ],
  'state-change': [2, { ...HEAD, stateViews: mapped(listOf(COMPONENT_NAME), canonicalNames, canonicalNames) }],
  presenter: [
    3,
    {
      ...HEAD,
      offers: listOf(fieldsOf<OfferedContent>({ contentType: TEXT, schema: optional(TEXT) })),
      settings: SETTINGS,
    },
  ],
});

export function encodeDefinition(definition: Definition): Uint8Array {
  const writer = new ByteWriter(256);
  writer.u8(FORMAT);
  DEFINITION.write(writer, definition);
  return writer.take();
}

/** Undefined unless the bytes are the encoding of a valid definition. Accepts any bytes. */
export function decodeDefinition(bytes: Uint8Array): Definition | undefined {
  const reader = new ByteReader(bytes);
  if (reader.u8() !== FORMAT) return undefined;
  const definition = DEFINITION.read(reader);
  if (reader.failed || reader.left > 0) return undefined;
  const faults = new Faults();
  checkDefinition(definition, { field: '', faults });
  return faults.none && compareBytes(encodeDefinition(definition), bytes) === 0 ? definition : undefined;
}

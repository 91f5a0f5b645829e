/**
 * A plugin of buf: writes descriptors.ts, the file descriptors that server reflection gives out, as base64.
 *
 * Reads a CodeGeneratorRequest from stdin and writes a CodeGeneratorResponse to stdout, both of protobuf's
 * compiler/plugin.proto. Comments and positions (source_code_info) are left out: they are most of a descriptor.
 */
import { readFileSync } from 'node:fs';
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

interface Field {
  readonly number: number;
  /** The field with its tag. */
  readonly raw: Uint8Array;
  /** Content of a length-delimited field; empty for others. */
  readonly content: Uint8Array;
  /** Value of a varint; 0 for others. */
  readonly value: number;
}

interface FileDescriptor {
  readonly name: string;
  readonly dependencies: readonly string[];
  readonly services: readonly string[];
  readonly messages: readonly string[];
  readonly symbols: readonly string[];
  readonly extensions: readonly Extension[];
  readonly bytes: Uint8Array;
}

interface Extension {
  readonly containingType: string;
  readonly number: number;
}

const REQUEST_PROTO_FILE = 15;
const FILE = {
  NAME: 1,
  PACKAGE: 2,
  DEPENDENCY: 3,
  MESSAGE: 4,
  ENUM: 5,
  SERVICE: 6,
  EXTENSION: 7,
  SOURCE_INFO: 9,
} as const;
const MESSAGE = { FIELD: 2, NESTED: 3, ENUM: 4, EXTENSION: 6, ONEOF: 8 } as const;
const FIELD = { EXTENDEE: 2, NUMBER: 3 } as const;
const ENUM = { VALUE: 2 } as const;
const SERVICE = { METHOD: 2 } as const;
const RESPONSE = { FEATURES: 2, FILE: 15 } as const;
const RESPONSE_FILE = { NAME: 1, CONTENT: 15 } as const;
const FEATURE_PROTO3_OPTIONAL = 1;

const files = fieldsOf(readFileSync(0))
  .filter((field) => field.number === REQUEST_PROTO_FILE)
  .map((field) => readFile(field.content));
respond('descriptors.ts', sourceOf(files));

function readFile(bytes: Uint8Array): FileDescriptor {
  const fields = fieldsOf(bytes);
  const scope = texts(fields, FILE.PACKAGE).join('');
  const services = contents(fields, FILE.SERVICE);
  const messages = contents(fields, FILE.MESSAGE).flatMap((message) => withNested(scope, message));
  return {
    name: texts(fields, FILE.NAME).join(''),
    dependencies: texts(fields, FILE.DEPENDENCY),
    services: named(scope, services),
    messages: messages.map(({ name }) => name),
    symbols: [
      ...messages.flatMap(memberSymbols),
      ...enumSymbols(scope, contents(fields, FILE.ENUM)),
      ...services.flatMap((service) =>
        named(`${scope}.${nameOf(service)}`, contents(fieldsOf(service), SERVICE.METHOD)),
      ),
      ...named(scope, contents(fields, FILE.EXTENSION)),
    ],
    extensions: [
      ...contents(fields, FILE.EXTENSION),
      ...messages.flatMap((message) => contents(message.fields, MESSAGE.EXTENSION)),
    ].map(extensionOf),
    bytes: Buffer.concat(fields.filter((field) => field.number !== FILE.SOURCE_INFO).map((field) => field.raw)),
  };
}

interface Message {
  readonly name: string;
  readonly fields: readonly Field[];
}

function withNested(scope: string, bytes: Uint8Array): readonly Message[] {
  const fields = fieldsOf(bytes);
  const name = `${scope}.${nameOf(bytes)}`;
  return [{ name, fields }, ...contents(fields, MESSAGE.NESTED).flatMap((nested) => withNested(name, nested))];
}

function memberSymbols({ name, fields }: Message): readonly string[] {
  const members = [MESSAGE.FIELD, MESSAGE.ONEOF, MESSAGE.EXTENSION].flatMap((kind) => contents(fields, kind));
  return [...named(name, members), ...enumSymbols(name, contents(fields, MESSAGE.ENUM))];
}

/** Values of an enum stand beside it, as protobuf has it. */
function enumSymbols(scope: string, enums: readonly Uint8Array[]): readonly string[] {
  return [...named(scope, enums), ...enums.flatMap((type) => named(scope, contents(fieldsOf(type), ENUM.VALUE)))];
}

function extensionOf(bytes: Uint8Array): Extension {
  const fields = fieldsOf(bytes);
  // Written as a reference from the root, with a dot in front.
  const containingType = texts(fields, FIELD.EXTENDEE).join('').replace(/^\./, '');
  return { containingType, number: fields.find(({ number }) => number === FIELD.NUMBER)?.value ?? 0 };
}

function named(scope: string, all: readonly Uint8Array[]): readonly string[] {
  return all.map((each) => `${scope}.${nameOf(each)}`);
}

/** Of a message, field, enum, value, service or method, all of which have it as their first field. */
function nameOf(bytes: Uint8Array): string {
  return texts(fieldsOf(bytes), 1).join('');
}

function contents(fields: readonly Field[], number: number): readonly Uint8Array[] {
  return fields.filter((field) => field.number === number).map((field) => field.content);
}

function texts(fields: readonly Field[], number: number): readonly string[] {
  return contents(fields, number).map((content) => Buffer.from(content).toString('utf8'));
}

function fieldsOf(bytes: Uint8Array): readonly Field[] {
  const reader = new BinaryReader(bytes);
  const fields: Field[] = [];
  while (reader.pos < reader.len) {
    const from = reader.pos;
    const [number, type] = reader.tag();
    let content: Uint8Array = new Uint8Array(0);
    let value = 0;
    if (type === WireType.LengthDelimited) content = reader.bytes();
    else if (type === WireType.Varint) value = reader.int32();
    else reader.skip(type, number);
    fields.push({ number, raw: bytes.subarray(from, reader.pos), content, value });
  }
  return fields;
}

function sourceOf(descriptors: readonly FileDescriptor[]): string {
  const entries = descriptors.map(
    (file) => `  {
    name: ${JSON.stringify(file.name)},
    dependencies: ${JSON.stringify(file.dependencies)},
    services: ${JSON.stringify(file.services)},
    messages: ${JSON.stringify(file.messages)},
    symbols: ${JSON.stringify(file.symbols)},
    extensions: ${JSON.stringify(file.extensions)},
    base64: ${JSON.stringify(Buffer.from(file.bytes).toString('base64'))},
  },`,
  );
  return `// Code generated by scripts/protoc-gen-descriptors.ts. DO NOT EDIT.

export interface FileDescriptor {
  readonly name: string;
  readonly dependencies: readonly string[];
  /** All names are full ones. */
  readonly services: readonly string[];
  readonly messages: readonly string[];
  /** Everything else that has a name: fields, oneofs, enums and their values, methods, extensions. */
  readonly symbols: readonly string[];
  readonly extensions: readonly { readonly containingType: string; readonly number: number }[];
  /** The FileDescriptorProto. */
  readonly base64: string;
}

export const FILE_DESCRIPTORS: readonly FileDescriptor[] = [
${entries.join('\n')}
];
`;
}

function respond(name: string, content: string): void {
  const writer = new BinaryWriter();
  writer.tag(RESPONSE.FEATURES, WireType.Varint).uint64(FEATURE_PROTO3_OPTIONAL);
  writer.tag(RESPONSE.FILE, WireType.LengthDelimited).fork();
  writer.tag(RESPONSE_FILE.NAME, WireType.LengthDelimited).string(name);
  writer.tag(RESPONSE_FILE.CONTENT, WireType.LengthDelimited).string(content);
  writer.join();
  process.stdout.write(writer.finish());
}

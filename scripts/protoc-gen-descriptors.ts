/**
 * A plugin of buf. It writes descriptors.ts, the file descriptors that server reflection gives out, as base64, and
 * requests.ts, the fields of requests by which they are read (src/transport/request-reader.ts).
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
  readonly bytes: Uint8Array;
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
const FIELD = { NUMBER: 3, LABEL: 4, TYPE: 5, TYPE_NAME: 6, JSON_NAME: 10, PROTO3_OPTIONAL: 17 } as const;
const LABEL_REPEATED = 3;
const TYPE_MESSAGE = 11;
const ENUM = { VALUE: 2 } as const;
const SERVICE = { METHOD: 2 } as const;
const METHOD = { INPUT: 2 } as const;
const RESPONSE = { FEATURES: 2, FILE: 15 } as const;
const RESPONSE_FILE = { NAME: 1, CONTENT: 15 } as const;
const FEATURE_PROTO3_OPTIONAL = 1;

/** Types of fields that requests have, by their numbers in descriptor.proto: name, wire type, type in TypeScript. */
const SCALARS: Readonly<Record<number, readonly [name: string, wireType: number, type: string]>> = {
  4: ['uint64', 0, 'number | bigint'],
  8: ['bool', 0, 'boolean'],
  9: ['string', 2, 'string'],
  12: ['bytes', 2, 'Uint8Array'],
  13: ['uint32', 0, 'number'],
  14: ['enum', 0, 'number | bigint'],
};
/** Messages inside of requests that #model reads. */
const OWN_READERS: Readonly<Record<string, readonly [name: string, type: string]>> = {
  'cairn.v1.EventSelection': ['bytes', 'Uint8Array'],
  'google.protobuf.Timestamp': ['timestamp', '{ readonly seconds: number | bigint; readonly nanos: number }'],
};
/** Messages that differ from an empty one when they are absent. */
const DISTINCT = ['cairn.v1.EffectiveTimeRange', 'cairn.v1.Position'];
/** The request that is read by hand, for speed (src/transport/grpc/transact-request.ts). */
const BY_HAND = 'cairn.v1.TransactRequest';
/** Requests between nodes: clients do not see them, and later releases may have fields that are unknown here. */
const OF_PEERS = 'cairn/peer/';

const sources = contents(fieldsOf(readFileSync(0)), REQUEST_PROTO_FILE).filter(
  (bytes) => !nameOf(bytes).startsWith(OF_PEERS),
);
respond({ 'descriptors.ts': sourceOf(sources.map(readFile)), 'requests.ts': requestsSource(sources) });

function readFile(bytes: Uint8Array): FileDescriptor {
  const fields = fieldsOf(bytes);
  const scope = texts(fields, FILE.PACKAGE).join('');
  const services = contents(fields, FILE.SERVICE);
  const messages = contents(fields, FILE.MESSAGE).flatMap((message) => withNested(scope, message));
  const extending = [fields, ...messages.map((message) => message.fields)];
  if (extending.some((each, at) => contents(each, at === 0 ? FILE.EXTENSION : MESSAGE.EXTENSION).length > 0))
    throw new Error(`a proto file of ${scope} extends a message, which server reflection does not show`);
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
    ],
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
  const members = [MESSAGE.FIELD, MESSAGE.ONEOF].flatMap((kind) => contents(fields, kind));
  return [...named(name, members), ...enumSymbols(name, contents(fields, MESSAGE.ENUM))];
}

/** Values of an enum have the scope of the enum itself, as in protobuf. */
function enumSymbols(scope: string, enums: readonly Uint8Array[]): readonly string[] {
  return [...named(scope, enums), ...enums.flatMap((type) => named(scope, contents(fieldsOf(type), ENUM.VALUE)))];
}

function named(scope: string, all: readonly Uint8Array[]): readonly string[] {
  return all.map((each) => `${scope}.${nameOf(each)}`);
}

/** Name of a message, field, enum, value, service or method: the first field of each. */
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
  /** Everything else that has a name: fields, oneofs, enums and their values, methods. */
  readonly symbols: readonly string[];
  /** The FileDescriptorProto. */
  readonly base64: string;
}

export const FILE_DESCRIPTORS: readonly FileDescriptor[] = [
${entries.join('\n')}
];
`;
}

/** Requests of the services of Cairn and the messages inside of them, each with its fields. */
function requestsSource(descriptors: readonly Uint8Array[]): string {
  const packages = descriptors.map(fieldsOf).map((fields) => ({ fields, scope: texts(fields, FILE.PACKAGE).join('') }));
  const messages = new Map(
    packages.flatMap(({ fields, scope }) =>
      contents(fields, FILE.MESSAGE).flatMap((message) =>
        withNested(scope, message).map((each) => [each.name, contents(each.fields, MESSAGE.FIELD)] as const),
      ),
    ),
  );
  const methods = packages
    .filter(({ scope }) => scope.startsWith('cairn.'))
    .flatMap(({ fields }) => contents(fields, FILE.SERVICE))
    .flatMap((service) => contents(fieldsOf(service), SERVICE.METHOD));
  const read = new Set(methods.map((method) => typeName(method, METHOD.INPUT)));
  read.delete(BY_HAND);
  const types: string[] = [];
  const tables: string[] = [];
  for (const name of read) {
    const fields = (messages.get(name) ?? []).map(requestField);
    for (const { message } of fields) if (message !== undefined) read.add(message);
    types.push(
      `  "${name}": {${fields.map(({ type }) => `\n    ${type}`).join('')}${fields.length > 0 ? '\n  ' : ''}};`,
    );
    tables.push(
      `  "${name}": {${fields.map(({ row }) => `\n    ${row}`).join('')}${fields.length > 0 ? '\n  ' : ''}},`,
    );
  }
  const scalars = [...Object.values(SCALARS), ['timestamp']].map(([name]) => `"${name}"`);
  return `// Code generated by scripts/protoc-gen-descriptors.ts. DO NOT EDIT.

/** Requests, and the messages inside of them. */
export interface Requests {
${types.join('\n')}
}

export type ScalarType = ${scalars.join(' | ')};

export interface RequestField {
  /** In {@link Requests}. */
  readonly key: string;
  /** In the proto file. */
  readonly name: string;
  readonly type: ScalarType | keyof Requests;
  readonly presence: "list" | "optional" | "always";
}

/** Fields of each by their tags: number times 8 plus wire type. */
export const REQUEST_FIELDS: { readonly [Name in keyof Requests]: Readonly<Record<number, RequestField>> } = {
${tables.join('\n')}
};
`;
}

interface RequestField {
  readonly type: string;
  readonly row: string;
  /** Name of the message that it is, unless #model reads it. */
  readonly message: string | undefined;
}

function requestField(bytes: Uint8Array): RequestField {
  const fields = fieldsOf(bytes);
  const numberOf = (number: number): number => fields.find((field) => field.number === number)?.value ?? 0;
  const [name, key] = [nameOf(bytes), texts(fields, FIELD.JSON_NAME).join('')];
  const isMessage = numberOf(FIELD.TYPE) === TYPE_MESSAGE;
  const message = isMessage ? typeName(bytes, FIELD.TYPE_NAME) : '';
  const own = OWN_READERS[message];
  const [kind, type] = own ?? [message, `Requests["${message}"]`];
  const [scalar, wireType, scalarType] = isMessage ? [kind, 2, type] : (SCALARS[numberOf(FIELD.TYPE)] ?? []);
  const isList = numberOf(FIELD.LABEL) === LABEL_REPEATED;
  // Numbers of a list come packed, which the reader does not read.
  if (wireType === undefined || (isList && wireType === 0)) throw new Error(`${name} has a type that is not read`);
  // Any other absent message reads as an empty one.
  const isOptional = own !== undefined || DISTINCT.includes(message) || numberOf(FIELD.PROTO3_OPTIONAL) === 1;
  const presence = isList ? 'list' : isOptional ? 'optional' : 'always';
  const full = { list: `readonly ${scalarType}[]`, optional: `${scalarType} | undefined`, always: scalarType }[
    presence
  ];
  const tag = numberOf(FIELD.NUMBER) * 8 + wireType;
  const row = `${tag}: { key: "${key}", name: "${name}", type: "${scalar}", presence: "${presence}" },`;
  return { type: `readonly ${key}: ${full};`, row, message: isMessage && own === undefined ? message : undefined };
}

/** A type of a field or a method, which is written as a reference from the root, with a dot in front. */
function typeName(bytes: Uint8Array, number: number): string {
  return texts(fieldsOf(bytes), number).join('').replace(/^\./, '');
}

function respond(written: Readonly<Record<string, string>>): void {
  const writer = new BinaryWriter();
  writer.tag(RESPONSE.FEATURES, WireType.Varint).uint64(FEATURE_PROTO3_OPTIONAL);
  for (const [name, content] of Object.entries(written)) {
    writer.tag(RESPONSE.FILE, WireType.LengthDelimited).fork();
    writer.tag(RESPONSE_FILE.NAME, WireType.LengthDelimited).string(name);
    writer.tag(RESPONSE_FILE.CONTENT, WireType.LengthDelimited).string(content);
    writer.join();
  }
  process.stdout.write(writer.finish());
}

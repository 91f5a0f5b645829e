/**
 * Server reflection (grpc.reflection.v1 and v1alpha, which differ in their name only): the descriptors of the service,
 * so that a tool can call it without having its proto files.
 */
import {
  ByteWriter,
  beginMessage,
  decodeUtf8,
  ProtoReader,
  WIRE_BYTES,
  writeBytesField,
  writeTextField,
  writeVarintField,
} from '#base';
import { FILE_DESCRIPTORS, type FileDescriptor } from './gen/descriptors.ts';
import type { BidiStreamMethod } from './wire/method.ts';
import { GRPC_STATUS } from './wire/status.ts';

const SERVICES = ['grpc.reflection.v1.ServerReflection', 'grpc.reflection.v1alpha.ServerReflection'] as const;

const REQUEST = { HOST: 1, FILE: 3, SYMBOL: 4, EXTENSION: 5, EXTENSIONS_OF: 6, LIST: 7 } as const;
const KNOWN_FIELDS: ReadonlySet<number> = new Set(Object.values(REQUEST));
const RESPONSE = { HOST: 1, REQUEST: 2, DESCRIPTORS: 4, SERVICES: 6, ERROR: 7 } as const;

interface Question {
  readonly host: Uint8Array;
  readonly field: number;
  readonly text: string;
}

export function reflectionMethods(): readonly BidiStreamMethod[] {
  return SERVICES.map((service) => ({ kind: 'bidi_stream', service, name: 'ServerReflectionInfo', answer }));
}

/** Answers one ServerReflectionRequest with one ServerReflectionResponse. */
function answer(request: Uint8Array): Uint8Array {
  const question = readQuestion(request);
  const response = new ByteWriter();
  if (question === undefined) {
    writeBytesField(
      response,
      RESPONSE.ERROR,
      errorResponse('INVALID_ARGUMENT', 'The request is not a ServerReflectionRequest'),
    );
    return response.take();
  }
  writeBytesField(response, RESPONSE.HOST, question.host);
  writeBytesField(response, RESPONSE.REQUEST, request);
  const { field, content } = contentFor(question);
  writeBytesField(response, field, content);
  return response.take();
}

function contentFor(question: Question): { readonly field: number; readonly content: Uint8Array } {
  switch (question.field) {
    case REQUEST.LIST:
      return { field: RESPONSE.SERVICES, content: serviceList() };
    case REQUEST.FILE:
      return fileOrError(fileNamed(question.text), `the file ${question.text}`);
    case REQUEST.SYMBOL:
      return fileOrError(fileWith(question.text), `the symbol ${question.text}`);
    default:
      // The package has no extensions.
      return { field: RESPONSE.ERROR, content: errorResponse('NOT_FOUND', 'There are no extensions') };
  }
}

function fileOrError(
  file: FileDescriptor | undefined,
  what: string,
): { readonly field: number; readonly content: Uint8Array } {
  if (file === undefined) return { field: RESPONSE.ERROR, content: errorResponse('NOT_FOUND', `There is not ${what}`) };
  const content = new ByteWriter();
  for (const descriptor of withDependencies(file)) {
    writeBytesField(content, 1, Buffer.from(descriptor.base64, 'base64'));
  }
  return { field: RESPONSE.DESCRIPTORS, content: content.take() };
}

/** The file, then everything that it imports, each once. */
function withDependencies(file: FileDescriptor): readonly FileDescriptor[] {
  const found = new Set([file]);
  for (const reached of found) {
    for (const name of reached.dependencies) {
      const dependency = fileNamed(name);
      if (dependency !== undefined) found.add(dependency);
    }
  }
  return [...found];
}

function fileNamed(name: string): FileDescriptor | undefined {
  return FILE_DESCRIPTORS.find((file) => file.name === name);
}

function fileWith(symbol: string): FileDescriptor | undefined {
  return FILE_DESCRIPTORS.find((file) => file.symbols.includes(symbol));
}

function serviceList(): Uint8Array {
  const list = new ByteWriter();
  const names = FILE_DESCRIPTORS.flatMap((file) => file.services).toSorted();
  for (const name of names) {
    const service = beginMessage(list, 1);
    writeTextField(list, 1, name);
    list.endLength(service);
  }
  return list.take();
}

function errorResponse(code: keyof typeof GRPC_STATUS, message: string): Uint8Array {
  const error = new ByteWriter();
  writeVarintField(error, 1, GRPC_STATUS[code]);
  writeTextField(error, 2, message);
  return error.take();
}

/** Undefined when the bytes are no request. Of several questions, which a oneof forbids, the last one counts. */
function readQuestion(bytes: Uint8Array): Question | undefined {
  const reader = new ProtoReader(bytes);
  let question: Question = { host: new Uint8Array(0), field: 0, text: '' };
  while (!reader.done) {
    const tag = reader.tag();
    const field = Math.floor(tag / 8);
    if (tag % 8 !== WIRE_BYTES || !KNOWN_FIELDS.has(field)) {
      reader.skipField(tag);
      continue;
    }
    const start = reader.lengthDelimited();
    if (field === REQUEST.HOST) question = { ...question, host: bytes.subarray(start, reader.at) };
    else question = { ...question, field, text: decodeUtf8(bytes, start, reader.at) ?? '' };
  }
  return reader.failed || question.field === 0 ? undefined : question;
}

// Files are found by what they extend, and come with what they import, each once.
import { expect, it } from 'vitest';
import type { FileDescriptor } from '../../../../proto/gen/descriptors.ts';
import {
  ServerReflectionRequest,
  ServerReflectionResponse,
} from '../../../../proto/gen/grpc/reflection/v1/reflection.ts';
import { createReflectionAnswer } from '../../../../src/transport/grpc/reflection-service.ts';

const file = (name: string, parts: Partial<FileDescriptor> = {}): FileDescriptor => ({
  name,
  dependencies: [],
  services: [],
  messages: [],
  symbols: [],
  extensions: [],
  base64: Buffer.from(name).toString('base64'),
  ...parts,
});

const FILES = [
  file('base', { messages: ['a.Base'] }),
  file('left', { dependencies: ['base'] }),
  file('right', { dependencies: ['base'], extensions: [{ containingType: 'a.Base', number: 120 }] }),
  file('top', {
    dependencies: ['left', 'right'],
    extensions: [
      { containingType: 'a.Base', number: 7 },
      { containingType: 'elsewhere.Options', number: 50 },
    ],
  }),
];

function ask(messageRequest: ServerReflectionRequest['messageRequest'], files = FILES) {
  const request = ServerReflectionRequest.encode({ host: '', messageRequest }).finish();
  const reply = createReflectionAnswer(files)(request);
  return ServerReflectionResponse.decode(reply ?? new Uint8Array(0)).messageResponse;
}

const filesNamed = (...names: readonly string[]) => ({
  $case: 'fileDescriptorResponse',
  value: { fileDescriptorProto: names.map((name) => Buffer.from(name)) },
});

it('an answer of reflection has the file, then what it imports by whatever way, each once', () => {
  const reply = ask({ $case: 'fileByFilename', value: 'top' });
  expect(reply).toEqual(filesNamed('top', 'left', 'right', 'base'));
});

it('an answer of reflection has the file that extends a type with the number', () => {
  const extension = (containingType: string, extensionNumber: number) =>
    ask({ $case: 'fileContainingExtension', value: { containingType, extensionNumber } });
  expect(extension('a.Base', 120)).toEqual(filesNamed('right', 'base'));
  expect(extension('elsewhere.Options', 50)).toEqual(filesNamed('top', 'left', 'right', 'base'));
  expect(extension('a.Base', 50)?.$case).toBe('errorResponse');
});

it.each([
  ['a.Base', [7, 120]],
  ['elsewhere.Options', [50]],
])('an answer of reflection has the numbers by which %s is extended', (value, extensionNumber) => {
  const wanted = { $case: 'allExtensionNumbersResponse', value: { baseTypeName: value, extensionNumber } };
  expect(ask({ $case: 'allExtensionNumbersOfType', value })).toEqual(wanted);
});

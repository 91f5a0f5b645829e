// Goal: reflection returns a file with its imports, each once. Method: files with shared imports.
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
  base64: Buffer.from(name).toString('base64'),
  ...parts,
});

const FILES = [
  file('base', { messages: ['a.Base'] }),
  file('left', { dependencies: ['base'] }),
  file('right', { dependencies: ['base'] }),
  file('top', { dependencies: ['left', 'right'] }),
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

it('an answer of reflection has the file, then all its direct and indirect imports, each once', () => {
  const reply = ask({ $case: 'fileByFilename', value: 'top' });
  expect(reply).toEqual(filesNamed('top', 'left', 'right', 'base'));
});

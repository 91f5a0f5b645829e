/**
 * What answers calls of server reflection (grpc.reflection.v1 and v1alpha): the package of the gRPC project, over the
 * descriptors of the services. To be loaded by the first such call, see reflection.ts.
 */
import { loadFileDescriptorSetFromBuffer } from '@grpc/proto-loader';
import { ReflectionService } from '@grpc/reflection';
import { assert, ByteWriter, writeBytesField } from '#base';
import { FILE_DESCRIPTORS } from './gen/descriptors.ts';

/** The reply to one request; undefined when the bytes are no request. */
export type ReflectionAnswer = (request: Buffer) => Buffer | undefined;

/** What answers, by path. It takes as long as reading all the descriptors does: tens of milliseconds. */
export function createReflectionAnswers(): ReadonlyMap<string, ReflectionAnswer> {
  // google.protobuf.FileDescriptorSet: field 1, one for each file.
  const set = new ByteWriter();
  for (const { base64 } of FILE_DESCRIPTORS) writeBytesField(set, 1, Buffer.from(base64, 'base64'));
  const service = new ReflectionService(loadFileDescriptorSetFromBuffer(Buffer.from(set.take())));
  const answers = new Map<string, ReflectionAnswer>();
  service.addToServer({
    addService: (definition, implementation) => {
      for (const [name, { path, requestDeserialize, responseSerialize }] of Object.entries(definition)) {
        const handle = implementation[name];
        assert(handle !== undefined, 'The package has a handler for each method that it adds', name);
        const exchange = exchangeOf(handle);
        answers.set(path, (bytes) => {
          const request = decoded(requestDeserialize, bytes);
          return request === undefined ? undefined : responseSerialize(exchange(request));
        });
      }
    },
  });
  return answers;
}

/** The handler of the package keeps nothing of a stream and writes one reply to each request, at once. */
function exchangeOf(handle: (...parts: never[]) => unknown): (request: unknown) => unknown {
  let onRequest: ((request: unknown) => void) | undefined;
  let reply: unknown;
  const stream = {
    on: (event: string, listener: (request?: unknown) => void) => {
      if (event === 'data') onRequest = listener;
    },
    write: (written: unknown) => {
      reply = written;
    },
  };
  Reflect.apply(handle, undefined, [stream]);
  return (request) => {
    reply = undefined;
    onRequest?.(request);
    assert(reply !== undefined, 'The package replies to each request at once');
    return reply;
  };
}

function decoded(decode: (bytes: Buffer) => unknown, bytes: Buffer): unknown {
  try {
    return decode(bytes);
  } catch {
    return undefined;
  }
}

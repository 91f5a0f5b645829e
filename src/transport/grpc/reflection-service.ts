/**
 * What answers calls of server reflection (grpc.reflection.v1 and v1alpha): the package of the gRPC project, over the
 * descriptors of the services. To be loaded by the first such call, see reflection.ts.
 */
import type { UntypedHandleCall } from '@grpc/grpc-js';
import { loadFileDescriptorSetFromBuffer } from '@grpc/proto-loader';
import { ReflectionService } from '@grpc/reflection';
import { assert, ByteWriter, writeBytesField } from '#base';
import { FILE_DESCRIPTORS } from './gen/descriptors.ts';

/** One method of the package, with its codec. */
export interface ReflectionMethod {
  readonly handle: UntypedHandleCall;
  /** @throws Error when the bytes are no request. */
  readonly decode: (bytes: Buffer) => unknown;
  readonly encode: (reply: unknown) => Buffer;
}

/** The methods by their paths. It takes as long as reading all the descriptors does: tens of milliseconds. */
export function createReflectionMethods(): ReadonlyMap<string, ReflectionMethod> {
  // google.protobuf.FileDescriptorSet: field 1, one for each file.
  const set = new ByteWriter();
  for (const { base64 } of FILE_DESCRIPTORS) writeBytesField(set, 1, Buffer.from(base64, 'base64'));
  const service = new ReflectionService(loadFileDescriptorSetFromBuffer(Buffer.from(set.take())));
  const methods = new Map<string, ReflectionMethod>();
  service.addToServer({
    addService: (definition, implementation) => {
      for (const [name, { path, requestDeserialize, responseSerialize }] of Object.entries(definition)) {
        const handle = implementation[name];
        assert(handle !== undefined, 'The package has a handler for each method that it adds', name);
        methods.set(path, { handle, decode: requestDeserialize, encode: responseSerialize });
      }
    },
  });
  return methods;
}

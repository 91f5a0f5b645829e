/**
 * Server reflection (grpc.reflection.v1 and v1alpha), by the package of the gRPC project: the descriptors of the
 * services, so that a tool can call them without having their proto files.
 */
import { loadFileDescriptorSetFromBuffer } from '@grpc/proto-loader';
import { ReflectionService } from '@grpc/reflection';
import { ByteWriter, writeBytesField } from '#base';
import { FILE_DESCRIPTORS } from './gen/descriptors.ts';

export function createReflectionService(): ReflectionService {
  // google.protobuf.FileDescriptorSet: field 1, one for each file.
  const set = new ByteWriter();
  for (const { base64 } of FILE_DESCRIPTORS) writeBytesField(set, 1, Buffer.from(base64, 'base64'));
  return new ReflectionService(loadFileDescriptorSetFromBuffer(Buffer.from(set.take())));
}

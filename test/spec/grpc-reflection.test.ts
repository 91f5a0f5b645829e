// Every request of gRPC server reflection is answered, in both versions, for generated clients and raw bytes.
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { Client, credentials, type ServiceError } from '@grpc/grpc-js';
import { loadFileDescriptorSetFromBuffer } from '@grpc/proto-loader';
import { afterAll, describe, expect, it } from 'vitest';
import { FILE_DESCRIPTORS } from '../../proto/gen/descriptors.ts';
import {
  ServerReflectionRequest,
  ServerReflectionResponse,
  ServerReflectionService,
} from '../../proto/gen/grpc/reflection/v1/reflection.ts';
import { framed, prefix } from '../support/raw-grpc.ts';
import { sharedGrpcNode } from '../support/shared-servers.ts';

type Asked = ServerReflectionRequest['messageRequest'];
type Answered = NonNullable<ServerReflectionResponse['messageResponse']>;

const NOT_FOUND = 5;
const UNIMPLEMENTED = 12;
const NAME = 1;
const DEPENDENCY = 3;

const { server, raw } = await sharedGrpcNode();

function strings(descriptor: Uint8Array, wanted: number): readonly string[] {
  const reader = new BinaryReader(descriptor);
  const found: string[] = [];
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    if (number === wanted) found.push(reader.string());
    else reader.skip(type, number);
  }
  return found;
}

function loaded(files: readonly Uint8Array[]): Readonly<Record<string, unknown>> {
  const set = new BinaryWriter();
  for (const file of files) set.tag(1, WireType.LengthDelimited).bytes(file);
  return loadFileDescriptorSetFromBuffer(Buffer.from(set.finish()));
}

function filesOf(answered: Answered): readonly Uint8Array[] {
  return answered.$case === 'fileDescriptorResponse' ? answered.value.fileDescriptorProto : [];
}

describe.each(['v1', 'v1alpha'])('SPEC-GRPC-REFLECTION over %s', (version) => {
  const path = `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`;
  const client = new Client(server.grpc, credentials.createInsecure());
  afterAll(() => client.close());

  const replyTo = (messageRequest: Asked): Promise<ServerReflectionResponse> =>
    new Promise((resolve, reject) => {
      const { requestSerialize, responseDeserialize } = ServerReflectionService.serverReflectionInfo;
      const stream = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize);
      stream.on('data', resolve);
      stream.on('error', (error: ServiceError) => reject(error));
      stream.write({ host: 'here', messageRequest });
      stream.end();
    });
  const ask = async (asked: Asked): Promise<Answered> => {
    const { messageResponse } = await replyTo(asked);
    if (messageResponse === undefined) throw new Error('The reply answers nothing');
    return messageResponse;
  };

  it('lists every service, including that of the other version', async () => {
    const names = [
      'cairn.admin.v1.ClusterAdmin',
      'cairn.v1.EventStore',
      'grpc.health.v1.Health',
      'grpc.reflection.v1.ServerReflection',
      'grpc.reflection.v1alpha.ServerReflection',
    ];
    const service = names.map((name) => ({ name }));
    for (const value of ['', '*'])
      expect(await ask({ $case: 'listServices', value })).toEqual({
        $case: 'listServicesResponse',
        value: { service },
      });
  });

  it.each(FILE_DESCRIPTORS.map(({ name }) => name))('gives %s by its name, with all its imports', async (name) => {
    const files = filesOf(await ask({ $case: 'fileByFilename', value: name }));
    const names = files.map((file) => strings(file, NAME).join());
    expect(names[0]).toBe(name);
    expect(new Set(names).size).toBe(names.length);
    for (const file of files) expect(names).toEqual(expect.arrayContaining([...strings(file, DEPENDENCY)]));
    expect(() => loaded(files)).not.toThrow();
  });

  it('gives the file that defines a full name', async () => {
    for (const [symbol, name] of [
      ['cairn.v1.EventStore.Transact', 'cairn/v1/event_store.proto'],
      ['cairn.v1.Event.ty', 'cairn/v1/event.proto'],
      ['cairn.v1.DIRECTION_REVERSE', 'cairn/v1/event.proto'],
      ['grpc.health.v1.HealthCheckResponse.ServingStatus', 'grpc/health/v1/health.proto'],
      ['google.protobuf.Timestamp', 'google/protobuf/timestamp.proto'],
      [`grpc.reflection.${version}.ServerReflection`, `grpc/reflection/${version}/reflection.proto`],
    ] as const) {
      const [file = new Uint8Array(0)] = filesOf(await ask({ $case: 'fileContainingSymbol', value: symbol }));
      expect([symbol, strings(file, NAME)]).toEqual([symbol, [name]]);
    }
  });

  it('describes the service so that every method can be called', async () => {
    const files = filesOf(await ask({ $case: 'fileContainingSymbol', value: 'cairn.v1.EventStore' }));
    const service = loaded(files)['cairn.v1.EventStore'];
    const methods = FILE_DESCRIPTORS.flatMap(({ symbols }) => symbols)
      .filter((symbol) => symbol.startsWith('cairn.v1.EventStore.'))
      .map((symbol) => symbol.slice('cairn.v1.EventStore.'.length));
    expect(methods.length).toBeGreaterThan(20);
    expect(Object.keys(service ?? {}).toSorted()).toEqual(methods.toSorted());
  });

  it.each<[Asked, string]>([
    [
      { $case: 'fileByFilename', value: 'cairn/v2/event.proto' },
      '"cairn/v2/event.proto"; those that there are: cairn/admin/v1/admin.proto, cairn/cloudevents',
    ],
    [{ $case: 'fileContainingSymbol', value: 'toString' }, 'No file defines "toString"; a symbol is a full'],
    [
      { $case: 'fileContainingExtension', value: { containingType: 'toString', extensionNumber: -1 } },
      'No file extends "toString" with a field -1',
    ],
    [{ $case: 'allExtensionNumbersOfType', value: 'toString' }, 'There is no message type "toString"'],
  ])('says in its reply that %j is not found', async (asked, words) => {
    const reply = await replyTo(asked);
    const errorMessage: unknown = expect.stringContaining(words);
    expect(reply).toEqual({
      validHost: 'here',
      originalRequest: { host: 'here', messageRequest: asked },
      messageResponse: { $case: 'errorResponse', value: { errorCode: NOT_FOUND, errorMessage } },
    });
  });

  it('answers that a message type has no extensions', async () => {
    expect(await ask({ $case: 'allExtensionNumbersOfType', value: 'cairn.v1.Event' })).toEqual({
      $case: 'allExtensionNumbersResponse',
      value: { baseTypeName: 'cairn.v1.Event', extensionNumber: [] },
    });
  });

  it('names the known requests when a request is unknown', async () => {
    const errorMessage: unknown = expect.stringMatching(
      /nothing that is known here: file_by_filename, .* list_services$/,
    );
    const expected = { $case: 'errorResponse', value: { errorCode: UNIMPLEMENTED, errorMessage } };
    expect(await ask(undefined)).toEqual(expected);
  });

  it('answers each request of a stream, also after one that is not found, and refuses malformed ones', async () => {
    const request = (value: string): Buffer =>
      framed(ServerReflectionRequest.encode({ host: '', messageRequest: { $case: 'fileByFilename', value } }).finish());
    const known = request('google/protobuf/any.proto');
    const answered = await raw.call({ path, pieces: [request('nothing.proto'), known, known] });
    expect(answered.status).toBe(0);
    const cases: (string | undefined)[] = [];
    for (let rest = answered.body; rest.length > 0; ) {
      const end = prefix(0).length + rest.readUInt32BE(1);
      const { messageResponse } = ServerReflectionResponse.decode(rest.subarray(prefix(0).length, end));
      cases.push(messageResponse?.$case);
      rest = rest.subarray(end);
    }
    expect(cases).toEqual(['errorResponse', 'fileDescriptorResponse', 'fileDescriptorResponse']);
    const refused = await raw.call({ path, pieces: [framed(Buffer.from([0xff, 0xff]))] });
    expect(refused.status).toBe(3);
  });
});

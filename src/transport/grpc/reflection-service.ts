/**
 * Answers server reflection from the descriptors of the proto files: files by name and by definition, and the services.
 * No file extends a message: the generator refuses that. Loaded by the first such request (reflection.ts).
 *
 * A file is followed by all its imports, each once. An unknown name is an error in the reply, with the status that a
 * call would have, and the stream continues.
 *
 * Source: grpc/reflection/v1/reflection.proto of the gRPC project. Under v1alpha the messages are the same.
 */
import { DatabaseError, quote } from '#base';
import { FILE_DESCRIPTORS, type FileDescriptor } from '../../../proto/gen/descriptors.ts';
import {
  type ExtensionRequest,
  ServerReflectionRequest,
  ServerReflectionResponse,
} from '../../../proto/gen/grpc/reflection/v1/reflection.ts';
import { decoded } from '../request-reader.ts';
import { GRPC_STATUS } from './wire/status.ts';

/** The reply to one request; undefined for a malformed one. */
export type ReflectionAnswer = (request: Uint8Array) => Uint8Array | undefined;

type Reply = NonNullable<ServerReflectionResponse['messageResponse']>;

const ASKS = 'file_by_filename, file_containing_symbol, file_containing_extension, all_extension_numbers_of_type';

/** Answers from these files, which only import one another. */
export function createReflectionAnswer(files: readonly FileDescriptor[] = FILE_DESCRIPTORS): ReflectionAnswer {
  const known = new KnownFiles(files);
  return (bytes) => {
    const request = decoded(ServerReflectionRequest, bytes);
    if (request === undefined) return undefined;
    const messageResponse = known.replyTo(request);
    const reply = { validHost: request.host, originalRequest: request, messageResponse };
    return ServerReflectionResponse.encode(reply).finish();
  };
}

class KnownFiles {
  readonly #files: readonly FileDescriptor[];
  readonly #byName: ReadonlyMap<string, FileDescriptor>;
  readonly #bySymbol: ReadonlyMap<string, FileDescriptor>;
  readonly #messages: ReadonlySet<string>;

  constructor(files: readonly FileDescriptor[]) {
    this.#files = files;
    this.#byName = new Map(files.map((file) => [file.name, file]));
    this.#bySymbol = new Map(
      files.flatMap((file) => [...file.services, ...file.messages, ...file.symbols].map((name) => [name, file])),
    );
    this.#messages = new Set(files.flatMap(({ messages }) => messages));
  }

  replyTo({ messageRequest }: ServerReflectionRequest): Reply {
    switch (messageRequest?.$case) {
      case 'fileByFilename':
        return this.#byFilename(messageRequest.value);
      case 'fileContainingSymbol':
        return this.#containingSymbol(messageRequest.value);
      case 'fileContainingExtension':
        return notExtended(messageRequest.value);
      case 'allExtensionNumbersOfType':
        return this.#extensionNumbersOf(messageRequest.value);
      case 'listServices':
        return this.#services();
      case undefined:
        return failure('UNIMPLEMENTED', `The request asks for nothing that is known here: ${ASKS} or list_services`);
    }
  }

  #byFilename(name: string): Reply {
    const file = this.#byName.get(name);
    if (file !== undefined) return this.#withImports(file);
    const known = [...this.#byName.keys()].toSorted().join(', ');
    return failure('NOT_FOUND', `There is no file ${quote(name)}; those that there are: ${known}`);
  }

  #containingSymbol(symbol: string): Reply {
    const file = this.#bySymbol.get(symbol);
    if (file !== undefined) return this.#withImports(file);
    const rule = 'a full name without a dot in front, such as cairn.v1.EventStore.Transact or cairn.v1.Event';
    return failure('NOT_FOUND', `No file defines ${quote(symbol)}; a symbol is ${rule}`);
  }

  #extensionNumbersOf(type: string): Reply {
    if (!this.#messages.has(type))
      return failure('NOT_FOUND', `There is no message type ${quote(type)}, and no file extends it`);
    return { $case: 'allExtensionNumbersResponse', value: { baseTypeName: type, extensionNumber: [] } };
  }

  #services(): Reply {
    const names = this.#files.flatMap(({ services }) => services).toSorted();
    return { $case: 'listServicesResponse', value: { service: names.map((name) => ({ name })) } };
  }

  /** The file, then its imports. */
  #withImports(asked: FileDescriptor): Reply {
    const found = new Set([asked]);
    for (const { dependencies } of found) {
      for (const name of dependencies) {
        const file = this.#byName.get(name);
        if (file === undefined) throw new DatabaseError('internal', `A proto file imports ${name}, which is not there`);
        found.add(file);
      }
    }
    const fileDescriptorProto = [...found].map(({ base64 }) => Buffer.from(base64, 'base64'));
    return { $case: 'fileDescriptorResponse', value: { fileDescriptorProto } };
  }
}

function notExtended({ containingType, extensionNumber }: ExtensionRequest): Reply {
  return failure('NOT_FOUND', `No file extends ${quote(containingType)} with a field ${extensionNumber}`);
}

function failure(code: 'NOT_FOUND' | 'UNIMPLEMENTED', errorMessage: string): Reply {
  return { $case: 'errorResponse', value: { errorCode: GRPC_STATUS[code], errorMessage } };
}

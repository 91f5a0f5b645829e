// A typed gRPC client for tests: it calls every method of the service by name, and returns headers and trailers with
// the messages. Calls have a deadline, so that an unresponsive server fails only its own test.
import {
  type ChannelCredentials,
  Client,
  type ClientOptions,
  type ClientReadableStream,
  credentials,
  Metadata,
  type MethodDefinition,
  type ServiceError,
  status as STATUS,
} from '@grpc/grpc-js';
import { EventStoreService } from '../../proto/gen/cairn/v1/event_store.ts';
import { BadRequest, ErrorInfo, PreconditionFailure, RetryInfo } from '../../proto/gen/google/rpc/error_details.ts';
import { Status } from '../../proto/gen/google/rpc/status.ts';
import { uniqueName } from './grpc-requests.ts';

type Definitions = typeof EventStoreService;
type MethodOf<Stream extends boolean> = {
  [Name in keyof Definitions]: Definitions[Name]['responseStream'] extends Stream ? Name : never;
}[keyof Definitions];
export type UnaryName = MethodOf<false>;
export type StreamName = MethodOf<true>;
type RequestOf<Name extends keyof Definitions> = Parameters<Definitions[Name]['requestSerialize']>[0];
type ReplyOf<Name extends keyof Definitions> = ReturnType<Definitions[Name]['responseDeserialize']>;

export interface CallOptions {
  readonly metadata?: Readonly<Record<string, string>>;
  readonly deadlineMs?: number;
}

export interface Reply<Message> {
  readonly message: Message;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly trailers: Readonly<Record<string, unknown>>;
}

export interface StreamReply<Message> {
  readonly messages: readonly Message[];
  readonly headers: Readonly<Record<string, unknown>>;
}

/** A call with another status than OK, with the details of the status. */
export class GrpcFailure extends Error {
  readonly code: string;
  readonly info: ErrorInfo | undefined;
  readonly fields: readonly string[];
  readonly violations: PreconditionFailure['violations'];
  readonly trailers: Readonly<Record<string, unknown>>;
  readonly retryDelay: RetryInfo['retryDelay'];

  constructor(error: ServiceError) {
    super(error.details);
    this.code = STATUS[error.code];
    this.trailers = error.metadata.getMap();
    const details = detailsOf(error);
    this.info = details.get('ErrorInfo')?.map((bytes) => ErrorInfo.decode(bytes))[0];
    this.retryDelay = details.get('RetryInfo')?.map((bytes) => RetryInfo.decode(bytes).retryDelay)[0];
    const bad = details.get('BadRequest')?.map((bytes) => BadRequest.decode(bytes)) ?? [];
    this.fields = bad.flatMap((request) => request.fieldViolations.map(({ field }) => field));
    const failed = details.get('PreconditionFailure')?.map((bytes) => PreconditionFailure.decode(bytes)) ?? [];
    this.violations = failed.flatMap(({ violations }) => violations);
  }
}

const DEADLINE_MS = 45_000;

export class TestClient implements AsyncDisposable {
  readonly #client: Client;

  constructor(
    address: string,
    options: Readonly<ClientOptions> = {},
    by: ChannelCredentials = credentials.createInsecure(),
  ) {
    this.#client = new Client(address, by, options);
  }

  /** Creates a database with a unique name, and returns the name. */
  async created(): Promise<string> {
    const databaseName = uniqueName();
    await this.send('createDatabase', { databaseName });
    return databaseName;
  }

  /**
   * Returns the reply with its metadata.
   * @throws GrpcFailure
   */
  call<Name extends UnaryName>(
    name: Name,
    request: RequestOf<Name>,
    options: CallOptions = {},
  ): Promise<Reply<ReplyOf<Name>>> {
    const definition = definitionOf<RequestOf<Name>, ReplyOf<Name>>(name);
    return new Promise((resolve, reject) => {
      let headers = {};
      let message: ReplyOf<Name>;
      let failure: ServiceError | undefined;
      const call = this.#client.makeUnaryRequest(
        definition.path,
        definition.requestSerialize,
        definition.responseDeserialize,
        request,
        metadataOf(options),
        { deadline: Date.now() + (options.deadlineMs ?? DEADLINE_MS) },
        (error, reply) => {
          if (error !== null) failure = error;
          else if (reply !== undefined) message = reply;
        },
      );
      call.on('metadata', (received: Metadata) => void (headers = received.getMap()));
      call.on('status', ({ metadata }) => {
        // The callback runs immediately before or after the status event.
        setImmediate(() => {
          if (failure === undefined) resolve({ message, headers, trailers: metadata.getMap() });
          else reject(new GrpcFailure(failure));
        });
      });
    });
  }

  /** Returns only the message. */
  async send<Name extends UnaryName>(name: Name, request: RequestOf<Name>, more?: CallOptions): Promise<ReplyOf<Name>> {
    return (await this.call(name, request, more)).message;
  }

  /**
   * Calls a method of any service by its path.
   * @throws GrpcFailure
   */
  sendBytes(path: string, bytes: Buffer, { metadata, deadlineMs = DEADLINE_MS }: CallOptions = {}): Promise<Buffer> {
    const asItIs = (each: Buffer): Buffer => each;
    const options = { deadline: Date.now() + deadlineMs };
    return new Promise((resolve, reject) => {
      const ended = (error: ServiceError | null, reply?: Buffer): void =>
        error === null ? resolve(reply ?? Buffer.alloc(0)) : reject(new GrpcFailure(error));
      const headers = metadataOf({ metadata: metadata ?? {} });
      this.#client.makeUnaryRequest(path, asItIs, asItIs, bytes, headers, options, ended);
    });
  }

  /**
   * Returns all messages of a finite stream.
   * @throws GrpcFailure
   */
  async collect<Name extends StreamName>(
    name: Name,
    request: RequestOf<Name>,
    options?: CallOptions,
  ): Promise<StreamReply<ReplyOf<Name>>> {
    const stream = this.open(name, request, options);
    let headers = {};
    stream.on('metadata', (received: Metadata) => void (headers = received.getMap()));
    const messages: ReplyOf<Name>[] = [];
    for await (const message of iterate(stream)) messages.push(message);
    return { messages, headers };
  }

  /** Opens a stream of grpc-js, for tests that pause and cancel it. */
  open<Name extends StreamName>(
    name: Name,
    request: RequestOf<Name>,
    options: CallOptions = {},
  ): ClientReadableStream<ReplyOf<Name>> {
    const definition = definitionOf<RequestOf<Name>, ReplyOf<Name>>(name);
    return this.#client.makeServerStreamRequest(
      definition.path,
      definition.requestSerialize,
      definition.responseDeserialize,
      request,
      metadataOf(options),
      { deadline: Date.now() + (options.deadlineMs ?? DEADLINE_MS) },
    );
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#client.close();
    return Promise.resolve();
  }
}

/**
 * Iterates over the messages of a stream.
 * @throws GrpcFailure
 */
export async function* iterate<Message>(stream: ClientReadableStream<Message>): AsyncGenerator<Message> {
  try {
    for await (const message of stream) yield message as Message;
  } catch (error) {
    throw isServiceError(error) ? new GrpcFailure(error) : error;
  }
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'code' in error && 'details' in error && 'metadata' in error;
}

// The generated definitions are a union from which TypeScript cannot select one by key.
function definitionOf<Request, Response>(name: keyof Definitions): MethodDefinition<Request, Response> {
  return EventStoreService[name] as unknown as MethodDefinition<Request, Response>;
}

function metadataOf({ metadata = {} }: CallOptions): Metadata {
  const sent = new Metadata();
  for (const [name, value] of Object.entries(metadata)) sent.set(name, value);
  return sent;
}

/** Details of a status by the last word of their type. */
function detailsOf(error: ServiceError): ReadonlyMap<string, readonly Buffer[]> {
  const [bytes] = error.metadata.get('grpc-status-details-bin');
  const details = new Map<string, Buffer[]>();
  if (!(bytes instanceof Buffer)) return details;
  for (const { typeUrl, value } of Status.decode(bytes).details) {
    const name = typeUrl.slice(typeUrl.lastIndexOf('.') + 1);
    details.set(name, [...(details.get(name) ?? []), value]);
  }
  return details;
}

/** The failure of a call that must not succeed. */
export async function failureOf(call: Promise<unknown>): Promise<GrpcFailure> {
  try {
    await call;
  } catch (failure) {
    if (failure instanceof GrpcFailure) return failure;
    throw failure;
  }
  throw new Error('The call succeeded');
}

/** OK, or the code of the failure and its reason. */
export async function outcomeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'OK';
  } catch (failure) {
    if (failure instanceof GrpcFailure) return `${failure.code} ${failure.info?.metadata['reason']}`;
    throw failure;
  }
}

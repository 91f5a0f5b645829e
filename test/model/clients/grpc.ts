/** A gRPC client that is independent of the product: grpc-js with messages by `@grpc/proto-loader`. */
import { fileURLToPath } from 'node:url';
import { Client, credentials, Metadata, type ServiceError, status as STATUS } from '@grpc/grpc-js';
import { loadSync, type MethodDefinition, type ServiceDefinition } from '@grpc/proto-loader';
import { ErrorInfo, PreconditionFailure } from '../../../proto/gen/google/rpc/error_details.ts';
import { Status } from '../../../proto/gen/google/rpc/status.ts';
import type { Answer, Sent } from '../model/vocabulary.ts';
import { answerOf } from './grpc-answers.ts';
import { callOf, type Message } from './grpc-messages.ts';

const PROTO = fileURLToPath(new URL('../../../proto', import.meta.url));
const PACKAGE = loadSync('cairn/v1/event_store.proto', {
  includeDirs: [PROTO],
  keepCase: true,
  longs: String,
  enums: String,
});
const SERVICE = PACKAGE['cairn.v1.EventStore'] as ServiceDefinition;
const DEADLINE_MS = 45_000;
/** Statuses of expected errors; an error with any other status is a fault. */
const STATUSES: Readonly<Record<string, string>> = {
  invalid_argument: 'INVALID_ARGUMENT',
  already_exists: 'ALREADY_EXISTS',
  constraint_violated: 'FAILED_PRECONDITION',
  TransactionTooLarge: 'RESOURCE_EXHAUSTED',
};

interface Reply {
  readonly messages: readonly Message[];
  readonly headers: Metadata;
}

export class GrpcClient implements Disposable {
  readonly #client: Client;

  constructor(address: string) {
    this.#client = new Client(address, credentials.createInsecure());
  }

  async send({ request, minRevision }: Sent): Promise<Answer> {
    const { rpc, message } = callOf(request);
    const metadata = new Metadata();
    if (minRevision !== undefined) metadata.set('x-min-revision', String(minRevision));
    try {
      const isLive = rpc === 'SubscribeEvents';
      const reply = await this.#call(rpc, message, { metadata, until: isLive ? isHeartbeat : undefined });
      return request.kind === 'delete' ? {} : { ...scopeOf(reply.headers), ...answerOf(request, reply.messages) };
    } catch (error) {
      if (error instanceof Error && 'metadata' in error && 'details' in error) return failure(error as ServiceError);
      throw error;
    }
  }

  #call(
    rpc: string,
    message: Message,
    { metadata, until }: { metadata: Metadata; until: ((message: Message) => boolean) | undefined },
  ): Promise<Reply> {
    const { path, requestSerialize, responseDeserialize } = SERVICE[rpc] as MethodDefinition<Message, Message>;
    const options = { deadline: Date.now() + DEADLINE_MS };
    const read = responseDeserialize as (bytes: Buffer) => Message;
    return new Promise((resolve, reject) => {
      const messages: Message[] = [];
      let headers = new Metadata();
      // A unary call is handled as a stream of one message.
      const call = this.#client.makeServerStreamRequest(path, requestSerialize, read, message, metadata, options);
      call.on('metadata', (received: Metadata) => {
        headers = received;
      });
      call.on('data', (received: Message) => {
        messages.push(received);
        if (until?.(received) !== true) return;
        resolve({ messages, headers });
        call.cancel();
      });
      call.on('error', reject);
      call.on('end', () => resolve({ messages, headers }));
    });
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }
}

function isHeartbeat(message: Message): boolean {
  return message['heartbeat'] !== undefined;
}

function scopeOf(metadata: Metadata): Answer {
  const [id] = metadata.get('x-database-id');
  const [revision] = metadata.get('x-revision');
  return {
    ...(id === undefined ? {} : { databaseId: String(id) }),
    ...(revision === undefined ? {} : { revision: Number(revision) }),
  };
}

function failure(error: ServiceError): Answer {
  const status = STATUS[error.code] ?? '';
  const [details] = error.metadata.get('grpc-status-details-bin');
  const answer = { error: `${status}: ${error.details}`, ...scopeOf(error.metadata) };
  if (!(details instanceof Buffer)) return answer;
  const parts = Status.decode(details).details;
  const valueOf = (name: string): Buffer | undefined =>
    parts.find(({ typeUrl }) => typeUrl.endsWith(`.${name}`))?.value;
  const info = ErrorInfo.decode(valueOf('ErrorInfo') ?? Buffer.alloc(0));
  const reason = info.metadata['reason'] ?? info.reason;
  const wanted = info.reason === 'not_found' ? 'NOT_FOUND' : STATUSES[reason];
  if (wanted !== status) return answer;
  const failed = valueOf('PreconditionFailure');
  const violations = failed === undefined ? undefined : PreconditionFailure.decode(failed).violations;
  return {
    ...answer,
    error: reason,
    ...(violations === undefined
      ? {}
      : {
          violations: violations.map(
            ({ subject, description }) => `${/\d+/.exec(subject)?.[0]}: ${/(\d+)$/.exec(description)?.[0]}`,
          ),
        }),
  };
}

/**
 * Calls at the gRPC port of a node, as the administrator of the cluster: with the key of the bootstrap Secret, and TLS
 * by the authority of the cluster.
 *
 * Not here: what is called. The definitions of methods are those of the generated services.
 *
 * Invariant:
 *   KG1  Every call ends: with a reply, with its signal, or after its deadline.
 */
import {
  type ChannelCredentials,
  Client,
  credentials,
  InterceptingCall,
  type Interceptor,
  Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js';

/** Credentials of a client, and the authorities that it trusts. Texts are in PEM. */
export interface Identity {
  /** API key. Absent: requests are not authenticated. */
  readonly key?: string | undefined;
  /** Absent: no TLS. Without `authorities` those of Node are trusted. */
  readonly tls?: TLSFiles | undefined;
}

export interface TLSFiles {
  readonly authorities?: string | undefined;
  /** Shown where clients need a certificate. */
  readonly certificate?: { readonly chain: string; readonly key: string } | undefined;
}

/** An address of a node, and what a client needs there. */
export interface Endpoint {
  readonly address: string;
  readonly identity: Identity;
}

/** A method of a generated service, such as `ClusterAdminService.describeCluster`. */
export interface Method<Request, Reply> {
  readonly path: string;
  readonly requestSerialize: (request: Request) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => Reply;
}

export interface CallOptions {
  readonly deadlineMs?: number;
  readonly signal?: AbortSignal | undefined;
}

/** Outcome of a call without a reply. `message` is the reason that the server gives, for people. */
export class CallError extends Error {
  override readonly name = 'CallError';
  readonly code: status;

  constructor({ code, details }: ServiceError, what: string) {
    super(`${what}: ${withoutTimes(details) || status[code]}`);
    this.code = code;
  }

  /** True when another node may answer, or the same one later. */
  get isTransient(): boolean {
    return this.code === status.UNAVAILABLE || this.code === status.DEADLINE_EXCEEDED;
  }
}

/** grpc-js adds times to its own reasons. With them the status of a resource would change with every attempt. */
function withoutTimes(details: string): string {
  return details.replace(/ \(\d{4}-[\d:T.-]+Z\)/g, '').replace(/^(Deadline exceeded) after .*/, '$1');
}

/** Returns true when a call failed with this code, such as NOT_FOUND. */
export function failedWith(error: unknown, code: keyof typeof status): boolean {
  return error instanceof CallError && error.code === status[code];
}

/** Handler for `catch` that treats NOT_FOUND as success. */
export function unlessNotFound(error: unknown): undefined {
  if (!failedWith(error, 'NOT_FOUND')) throw error;
  return undefined;
}

const DEADLINE_MS = 10_000;
/** A dead connection gives no other sign than the silence of these. */
const KEEPALIVE = { 'grpc.keepalive_time_ms': 30_000, 'grpc.keepalive_timeout_ms': 10_000 };
/** A description of 10,000 databases has a few megabytes. */
const REPLY_LENGTH_MAX = 64 * 2 ** 20;

/** A connection to one address, which is opened by the first call. */
export class Channel implements Disposable {
  readonly #client: Client;
  readonly #address: string;

  constructor(address: string, identity: Identity) {
    this.#address = address;
    this.#client = new Client(address, credentialsOf(identity), {
      ...KEEPALIVE,
      'grpc.max_receive_message_length': REPLY_LENGTH_MAX,
      interceptors: identity.key === undefined ? [] : [authorize(identity.key)],
    });
  }

  call<Request, Reply>(
    { path, requestSerialize, responseDeserialize }: Method<Request, Reply>,
    request: Request,
    { deadlineMs = DEADLINE_MS, signal }: CallOptions = {},
  ): Promise<Reply> {
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    const what = `${path.slice(path.lastIndexOf('/') + 1)} at ${this.#address}`;
    const deadline = Date.now() + deadlineMs;
    const done = (error: ServiceError | null, reply?: Reply): void => {
      signal?.removeEventListener('abort', cancel);
      if (reply === undefined || error !== null) reject(error === null ? new Error(what) : new CallError(error, what));
      else resolve(reply);
    };
    const sent = this.#client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      request,
      new Metadata(),
      { deadline },
      done,
    );
    const cancel = (): void => sent.cancel();
    signal?.addEventListener('abort', cancel);
    return promise;
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }
}

/** A client of one of the services behind a channel. */
export abstract class ChannelClient {
  protected readonly channel: Channel;

  constructor(channel: Channel) {
    this.channel = channel;
  }
}

function credentialsOf({ tls }: Identity): ChannelCredentials {
  if (tls === undefined) return credentials.createInsecure();
  const [authorities, key, chain] = [tls.authorities, tls.certificate?.key, tls.certificate?.chain].map((text) =>
    text === undefined ? null : Buffer.from(text),
  );
  return credentials.createSsl(authorities, key, chain);
}

/** Call credentials of gRPC need TLS, which a cluster may do without; so the key is added here. */
function authorize(key: string): Interceptor {
  return (options, nextCall) =>
    new InterceptingCall(nextCall(options), {
      start: (metadata, listener, next) => {
        metadata.set('authorization', `Bearer ${key}`);
        next(metadata, listener);
      },
    });
}

/**
 * The connection of one client to one node, over gRPC and HTTP. Transactions of the log are returned as raw bytes,
 * because the checks verify their chain hashes; other replies are decoded with the generated code.
 */
import { createSecureContext } from 'node:tls';
import { Client, credentials, InterceptingCall, type Interceptor, Metadata, type ServiceError } from '@grpc/grpc-js';
import { EventStoreService } from '../../proto/gen/cairn/v1/event_store.ts';
import { RELAYED } from '../../src/transport/relay.ts';
import type { At } from '../../test/simulation/history.ts';
import { GrpcFailure, TestClient } from '../../test/support/grpc-client.ts';

/** Addresses of a node for clients. */
export interface Address {
  /** host:port. */
  readonly grpc: string;
  /** URL without a path. With https, both ports use TLS with the CA certificates of this process. */
  readonly http: string;
  /** API key sent with every request. */
  readonly key?: string;
}

export interface HttpReply {
  readonly scope: { readonly databaseId: string; readonly revision: number };
  readonly body: unknown;
}

/** Error reply over HTTP. */
export class HttpFailure extends Error {
  readonly status: number;
  readonly reason: string | undefined;
  readonly scope: { readonly databaseId: string; readonly revision: number } | undefined;

  constructor(status: number, text: string, headers: Headers) {
    super(`HTTP ${status}: ${text.slice(0, 300)}`);
    this.status = status;
    this.reason = /"reason":\s*"(\w+)"/.exec(text)?.[1];
    const databaseId = headers.get('x-database-id');
    this.scope = databaseId === null ? undefined : { databaseId, revision: Number(headers.get('x-revision')) };
  }
}

/** Reconnects quickly. Each line has connections of its own. */
const CHANNEL = {
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_retries': 0,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.min_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 400,
  'grpc.max_receive_message_length': 64 << 20,
};
const CACHED_STATUS = 307;

export interface LineOptions {
  /** Called with the name of the leader when a reply has it. */
  readonly onLeader?: (name: string) => void;
  /**
   * True when the node relays requests for databases of which it has no replica. With false, the line supports only
   * gRPC.
   */
  readonly isRelayed?: boolean;
}

export class Line implements Disposable {
  readonly grpc: TestClient;
  readonly #raw: Client;
  readonly #address: Address;
  readonly #shown: Readonly<Record<string, string>>;
  readonly #onLeader: (name: string) => void;

  constructor(address: Address, { onLeader = (): void => undefined, isRelayed = true }: LineOptions = {}) {
    this.#address = address;
    this.#shown = address.key === undefined ? {} : { 'x-api-key': address.key };
    this.#onLeader = onLeader;
    // A node never relays a relayed request: it answers from its own replicas.
    const metadata = isRelayed ? this.#shown : { ...this.#shown, [RELAYED]: 'chaos' };
    const channel = { ...CHANNEL, interceptors: [showing(metadata)] };
    const isSecure = address.http.startsWith('https:');
    // Uses the CA certificates of the process, as fetch does; gRPC may read others from its environment.
    const by = isSecure ? credentials.createFromSecureContext(createSecureContext()) : credentials.createInsecure();
    this.grpc = new TestClient(address.grpc, channel, by);
    this.#raw = new Client(address.grpc, by, channel);
  }

  /** Reads the leader from the trailers of a write. */
  hear(trailers: Readonly<Record<string, unknown>>): void {
    const name = trailers['x-leader-node'];
    if (typeof name === 'string') this.#onLeader(name);
  }

  /**
   * Returns a unary reply and its headers, as bytes.
   * @throws GrpcFailure
   */
  fetchTransaction(
    request: { readonly databaseName: string; readonly transactionId: string },
    deadlineMs: number,
  ): Promise<{ readonly bytes: Buffer; readonly headers: Readonly<Record<string, unknown>> }> {
    const { path, requestSerialize } = EventStoreService.fetchTransaction;
    return new Promise((resolve, reject) => {
      let headers = {};
      const call = this.#raw.makeUnaryRequest(
        path,
        requestSerialize,
        asItIs,
        request,
        new Metadata(),
        { deadline: Date.now() + deadlineMs },
        (error, bytes) => {
          if (error !== null) reject(new GrpcFailure(error));
          else if (bytes !== undefined) resolve({ bytes, headers });
        },
      );
      call.on('metadata', (received: Metadata) => {
        headers = received.getMap();
      });
    });
  }

  /**
   * Returns the batches of a log, as bytes.
   * @throws GrpcFailure
   */
  async scanLogBatches(
    request: Parameters<(typeof EventStoreService.scanLogBatches)['requestSerialize']>[0],
    deadlineMs: number,
  ): Promise<{ readonly batches: readonly Buffer[]; readonly headers: Readonly<Record<string, unknown>> }> {
    const { path, requestSerialize } = EventStoreService.scanLogBatches;
    const deadline = Date.now() + deadlineMs;
    const stream = this.#raw.makeServerStreamRequest(path, requestSerialize, asItIs, request, new Metadata(), {
      deadline,
    });
    let headers = {};
    stream.on('metadata', (received: Metadata) => {
      headers = received.getMap();
    });
    const batches: Buffer[] = [];
    try {
      for await (const batch of stream) batches.push(batch as Buffer);
    } catch (error) {
      throw error instanceof Error && 'code' in error ? new GrpcFailure(error as ServiceError) : error;
    }
    return { batches, headers };
  }

  /** Resolves `at` to a revision: for a word, that of the URL to which the node redirects. */
  async revisionAt(
    { name, at, minRevision }: { readonly name: string; readonly at: At; readonly minRevision?: number | undefined },
    deadlineMs: number,
  ): Promise<number> {
    if (typeof at === 'number') return at;
    const reply = await fetch(`${this.#address.http}/db/${name}/${at}`, {
      headers: this.#headers(minRevision),
      redirect: 'manual',
      signal: AbortSignal.timeout(deadlineMs),
    });
    const text = await reply.text();
    if (reply.status !== CACHED_STATUS) throw new HttpFailure(reply.status, text, reply.headers);
    return Number(reply.headers.get('x-revision'));
  }

  /** Fetches a path and parses its JSON. */
  async get(path: string, minRevision: number | undefined, deadlineMs: number): Promise<HttpReply> {
    const reply = await fetch(`${this.#address.http}${path}`, {
      headers: this.#headers(minRevision),
      signal: AbortSignal.timeout(deadlineMs),
    });
    const text = await reply.text();
    if (!reply.ok) throw new HttpFailure(reply.status, text, reply.headers);
    const { headers } = reply;
    const scope = {
      databaseId: headers.get('x-database-id') ?? '',
      revision: Number(headers.get('x-revision')),
    };
    return { scope, body: JSON.parse(text) };
  }

  #headers(minRevision: number | undefined): Readonly<Record<string, string>> {
    return minRevision === undefined ? this.#shown : { ...this.#shown, 'x-min-revision': String(minRevision) };
  }

  [Symbol.dispose](): void {
    this.#raw.close();
    void this.grpc[Symbol.asyncDispose]();
  }
}

/** Adds metadata to every call. */
function showing(shown: Readonly<Record<string, string>>): Interceptor {
  return (options, nextCall) =>
    new InterceptingCall(nextCall(options), {
      start: (metadata, listener, next) => {
        for (const [name, text] of Object.entries(shown)) metadata.set(name, text);
        next(metadata, listener);
      },
    });
}

function asItIs(bytes: Buffer): Buffer {
  return bytes;
}

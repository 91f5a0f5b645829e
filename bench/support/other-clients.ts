/**
 * The clients beside an attack. Each has a connection of its own and makes one call after the other, not more than one
 * in a period: writers over gRPC, readers over HTTP, and newcomers, which open a connection to the attacked port for
 * each call. A latency includes the attempts that failed.
 */
import { Agent, get } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { askForCluster } from '#transport/peer';
import { FETCH_LATEST, TRANSACT } from '../peers/cairn.ts';
import { type Addresses, type Port, SHOP } from './attack-list.ts';
import { grpcHeaders, grpcMessage, Http2Connection } from './http2-connection.ts';
import { Latencies } from './latencies.ts';
import { bytesField, message } from './protobuf.ts';

export const KINDS = ['writes', 'reads', 'newcomers'] as const;
export type Kind = (typeof KINDS)[number];

export type Round = Readonly<Record<Kind, Latencies>> & { failed: number };

export interface OtherClientsOptions {
  readonly addresses: Addresses;
  readonly port: Port;
  /** Bytes of each transaction. */
  readonly bytes: number;
}

const CLIENTS_PER_KIND = 4;
const PERIOD_MS = 10;
/** Others have loaded transactions with lower numbers. */
const FIRST_NUMBER = 1_000_000;
/** Pause after a failed attempt. */
const PAUSE_MS = 20;
/** An attempt that takes longer has failed. */
const TIMEOUT_MS = 10_000;

type Attempt = () => Promise<boolean>;

export class OtherClients implements Disposable {
  readonly #options: OtherClientsOptions;
  readonly #attempts: readonly (readonly [Kind, number, Attempt])[];
  readonly #agents: readonly Agent[];
  readonly #connections = new Map<number, Http2Connection>();
  #made = 0;

  constructor(options: OtherClientsOptions) {
    this.#options = options;
    const numbers = Array.from({ length: CLIENTS_PER_KIND }, (_, n) => n);
    this.#agents = numbers.map(() => new Agent({ keepAlive: true, maxSockets: 1 }));
    const page = `${options.addresses.http}/db/${SHOP}/1/events?limit=1`;
    // A large transaction takes longer than a period.
    const periodMs = options.bytes > 10_000 ? 10 * PERIOD_MS : PERIOD_MS;
    this.#attempts = [
      ...numbers.map((n) => ['writes', periodMs, () => this.#write(n)] as const),
      ...this.#agents.map((agent) => ['reads', PERIOD_MS, () => isAnswered(page, { agent })] as const),
      ['newcomers', 5 * PERIOD_MS, () => this.#arrive()],
    ];
  }

  /** Makes calls for so long, and waits for the last ones. */
  async run(seconds: number): Promise<Round> {
    const round = { writes: new Latencies(), reads: new Latencies(), newcomers: new Latencies(), failed: 0 };
    const startMs = performance.now();
    const endMs = startMs + seconds * 1_000;
    await Promise.all(
      this.#attempts.map(async ([kind, periodMs, attempt], n) => {
        let dueMs = startMs + (n * periodMs) / this.#attempts.length;
        for (let beganMs = startMs; beganMs < endMs; dueMs = Math.max(dueMs + periodMs, performance.now())) {
          await delay(Math.max(0, dueMs - performance.now()));
          beganMs = performance.now();
          while (!(await attempt()) && performance.now() < endMs + TIMEOUT_MS) {
            round.failed += 1;
            await delay(PAUSE_MS);
          }
          round[kind].add(performance.now() - beganMs);
        }
      }),
    );
    return round;
  }

  [Symbol.dispose](): void {
    for (const connection of this.#connections.values()) connection.close();
    for (const agent of this.#agents) agent.destroy();
  }

  async #write(client: number): Promise<boolean> {
    const known = this.#connections.get(client);
    const connection = known?.isOpen === true ? known : await opened(this.#options.addresses.grpc);
    if (connection === undefined) return false;
    this.#connections.set(client, connection);
    return isOk(
      connection,
      TRANSACT,
      transactionOf(SHOP, { number: FIRST_NUMBER + this.#made++, bytes: this.#options.bytes }),
    );
  }

  /** A call on a new connection to the attacked port. */
  async #arrive(): Promise<boolean> {
    const { addresses, port } = this.#options;
    if (port === 'http') return isAnswered(`${addresses.http}/health`);
    if (port === 'metrics') return isAnswered(addresses.metrics);
    // 404, without a session.
    if (port === 'mcp') return isAnswered(`${new URL(addresses.mcp).origin}/nothing`, { wanted: 404 });
    if (port === 'peer') return (await askForCluster(addressOf(addresses.peer), TIMEOUT_MS)) !== undefined;
    const connection = await opened(addresses.grpc);
    const ok = connection !== undefined && (await isOk(connection, FETCH_LATEST, bytesField(1, SHOP)));
    connection?.close();
    return ok;
  }
}

/** A request with a transaction of one event. */
export function transactionOf(
  database: string,
  { number, bytes }: { readonly number: number; readonly bytes: number },
): Buffer {
  const n = String(number).padStart(12, '0');
  const event = message(
    bytesField(1, `id-${n}`),
    bytesField(2, '1.0'),
    bytesField(3, 'com.example.order.placed'),
    bytesField(4, 'https://example.com/streams/orders'),
    bytesField(7, JSON.stringify('x'.repeat(bytes))),
  );
  const transaction = message(bytesField(1, event), bytesField(3, `00000000-0000-4000-8000-${n}`));
  return message(bytesField(1, database), bytesField(2, transaction));
}

function addressOf(text: string): { readonly host: string; readonly port: number } {
  const { hostname: host, port } = new URL(`http://${text}`);
  return { host, port: Number(port) };
}

/** Undefined: the node has refused the connection. */
function opened(address: string): Promise<Http2Connection | undefined> {
  return Http2Connection.open(addressOf(address)).catch(() => undefined);
}

function isOk(connection: Http2Connection, path: string, request: Buffer): Promise<boolean> {
  return new Promise((done) => {
    const timer = setTimeout(() => {
      connection.close();
      done(false);
    }, TIMEOUT_MS);
    const onEnd = ({ ok }: { readonly ok: boolean }): void => {
      clearTimeout(timer);
      done(ok);
    };
    connection.call(grpcHeaders(path), grpcMessage(request), { onEnd });
  });
}

function isAnswered(
  url: string,
  { agent, wanted = 200 }: { readonly agent?: Agent; readonly wanted?: number } = {},
): Promise<boolean> {
  return new Promise((done) => {
    const asking = get(url, { agent: agent ?? false, timeout: TIMEOUT_MS }, (reply) => {
      reply.resume();
      reply.once('end', () => done(reply.statusCode === wanted));
      reply.once('error', () => done(false));
    });
    asking.once('timeout', () => asking.destroy());
    asking.once('error', () => done(false));
  });
}

/** The gRPC and HTTP servers on a whole node in one thread, with databases that the test fills. */
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import { ByteWriter, writeBytesField, writeVarintField } from '#base';
import { silentLogger } from '#observability';
import {
  type ByteBudgets,
  createByteBudgets,
  type GrpcServer,
  type GrpcServerOptions,
  startGrpcServer,
} from '#transport';
import { frame } from '../../src/transport/grpc/wire/framing.ts';
import { ManualTime } from './budget-time.ts';
import { cloudEvent } from './http-client.ts';
import { type HttpWorld, startHttpWorld } from './http-world.ts';
import { RawGrpc } from './raw-grpc.ts';

export interface GrpcWorld extends AsyncDisposable {
  readonly world: HttpWorld;
  readonly server: GrpcServer;
  readonly port: number;
  readonly raw: RawGrpc;
}

export interface Filling {
  readonly transactions: number;
  readonly eventsEach: number;
  readonly data?: string;
}

/** Contents of databases, by name. */
export type Fillings = Readonly<Record<string, Filling>>;

const MUCH = 2 ** 30;

export async function startGrpcWorld(
  fillings: Fillings = {},
  budgets: ByteBudgets = createByteBudgets({ requestBytesMax: MUCH, unsentBytesMax: MUCH, time: new ManualTime() }),
  limits: GrpcServerOptions['limits'] = {},
): Promise<GrpcWorld> {
  const world = await startHttpWorld({ budgets, holdsWaits: false });
  for (const [at, [name, filling]] of Object.entries(fillings).entries()) await fill(world, name, at, filling);
  const { service, metrics } = world;
  const shared = { service, metrics, logger: silentLogger, onFatal: () => undefined };
  const server = await startGrpcServer({ ...shared, host: '127.0.0.1', port: 0, budgets, limits });
  const raw = new RawGrpc(server.port);
  const dispose = async (): Promise<void> => {
    raw.session.destroy();
    await server.drain(0);
    await world[Symbol.asyncDispose]();
  };
  return { world, server, port: server.port, raw, [Symbol.asyncDispose]: dispose };
}

/** The ids that the node of a test generates are all the same, so each transaction has an explicit one. */
async function fill({ client }: HttpWorld, name: string, at: number, filling: Filling): Promise<void> {
  const { transactions, eventsEach, data } = filling;
  await client.create(name);
  for (let n = 0; n < transactions; n++) {
    const transactionId = `00000000-0000-4000-8000-${at}${String(n).padStart(11, '0')}`;
    const more = data === undefined ? {} : { data };
    const events = Array.from({ length: eventsEach }, (_, k) => cloudEvent(`e${n}-${k}`, more));
    const { status } = await client.post(`/databases/${name}/events`, { transaction_id: transactionId, events });
    if (status !== 200) throw new Error(`A transaction was answered ${status}`);
  }
}

/** Request of a streaming read of all events of the database. */
export function readRequest(database: string, heartbeatMs?: number): Uint8Array {
  const writer = new ByteWriter(16);
  writeBytesField(writer, 1, Buffer.from(database));
  if (heartbeatMs !== undefined) writeVarintField(writer, 4, heartbeatMs);
  return frame(writer.take());
}

/** Opens a stream that is only read when the test reads it. */
export function openStream(session: ClientHttp2Session, path: string, request?: Uint8Array): ClientHttp2Stream {
  const stream = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc' });
  stream.on('error', () => undefined);
  if (request !== undefined) stream.pause().end(request);
  return stream;
}

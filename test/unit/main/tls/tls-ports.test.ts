// Goal: a handshake that goes nowhere costs a bounded time and nothing else; who is no client of TLS, or shows what is
// not valid, is closed and told of; and what is open is seen by the bound on connections. Method: servers on loopback.
import { once } from 'node:events';
import { connect as connectPlainly, type Server, type Socket } from 'node:net';
import { type ConnectionOptions, connect } from 'node:tls';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ConnectionBound } from '../../../../src/main/ports/connection-bound.ts';
import type { ServingMaterial } from '../../../../src/main/tls/tls-files.ts';
import { tlsMaterial } from '../../../../src/main/tls/tls-files.ts';
import { TlsPorts } from '../../../../src/main/tls/tls-ports.ts';
import { Authority, type Issued } from '../../../support/certificates.ts';
import { eventually } from '../../../support/eventually.ts';

const authority = new Authority();
const NAMES = ['IP:127.0.0.1'];
const NO_FILES = { tlsCertFile: 'c', tlsKeyFile: 'k', tlsClientCaFile: 'ca', tlsCaFile: 'none' };

function serving({ cert, key }: Issued, clientAuthorities?: string): ServingMaterial {
  const contents = { certificate: cert, key, clientAuthorities, authorities: undefined };
  const material = tlsMaterial(contents, NO_FILES).serving;
  if (material === undefined) throw new TypeError('there is a certificate');
  return material;
}

const own = authority.issue({ cn: 'server', names: NAMES });
let ending: AsyncDisposableStack;
let failures: string[];

beforeEach(() => {
  ending = new AsyncDisposableStack();
  failures = [];
});

afterEach(() => ending.disposeAsync());

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  ending.defer(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

function ports(options: { readonly asks?: 'request' | 'require'; readonly handshakeMs?: number } = {}): TlsPorts {
  const { asks, ...rest } = options;
  const material = serving(own, asks === undefined ? undefined : authority.cert);
  return new TlsPorts(material, { clientAuth: asks ?? 'require', ...rest, onFailed: (why) => failures.push(why) });
}

/** Answers each accepted client with a word. */
function wordServer(made: TlsPorts): Server {
  return made.createServer((socket) => {
    socket.on('error', () => undefined);
    socket.end('welcome');
  });
}

async function wordOf(port: number, options: ConnectionOptions = {}): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port, ca: authority.cert, ALPNProtocols: ['h2'], ...options });
  socket.setEncoding('utf8');
  let text = '';
  socket.on('data', (piece: string) => void (text += piece));
  socket.on('error', () => undefined);
  await new Promise((resolve) => socket.once('close', resolve));
  return text;
}

function opened(port: number): Socket {
  const socket = connectPlainly(port, '127.0.0.1').resume();
  socket.on('error', () => undefined);
  ending.defer(() => void socket.destroy());
  return socket;
}

function countOf(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.getConnections((_error, count) => resolve(count));
  });
}

/** The beginning of a ClientHello whose rest never comes. */
const HALF = Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00]);

it.each([
  ['nothing', Buffer.alloc(0)],
  ['half of it', HALF],
])('a handshake that brings %s ends when its time is over', async (_what, bytes) => {
  const port = await listening(wordServer(ports({ handshakeMs: 200 })));
  const socket = opened(port);
  socket.write(bytes);
  await once(socket, 'close');
  expect(failures).toEqual(['ERR_TLS_HANDSHAKE_TIMEOUT']);
  expect(await wordOf(port)).toBe('welcome');
});

it('a handshake does not hold up the end of its server', async () => {
  for (const server of [wordServer(ports()), ports().createHttpServer({}, () => undefined)]) {
    const port = await listening(server);
    const socket = opened(port);
    socket.write(HALF);
    await eventually(async () => expect(await countOf(server)).toBe(1));
    await new Promise<void>((resolve) => void server.close(() => resolve()));
  }
});

it('the bound on connections sees each that is accepted, whatever becomes of its handshake', async () => {
  const closed: unknown[] = [];
  const shares = { clients: 4, clientsOfPort: 2, metrics: 1, peers: 0 };
  const bound = ending.use(new ConnectionBound(shares, (one) => closed.push(one)));
  const port = await listening(ports({ handshakeMs: 60_000 }).createServer(() => undefined));
  bound.name(port, 'grpc');
  // Connections that this process dials count, too, so the limit is two.
  const silent = opened(port);
  await once(silent, 'connect');
  expect(closed).toEqual([]);
  const open = connect({ host: '127.0.0.1', port, ca: authority.cert, ALPNProtocols: ['h2'] });
  ending.defer(() => void open.destroy());
  await once(open, 'secureConnect');
  const more = opened(port);
  await once(more, 'close');
  expect(closed).toEqual([{ server: 'grpc', bound: 'of the port', countMax: 2 }]);
});

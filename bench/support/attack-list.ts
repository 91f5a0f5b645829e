/**
 * The attacks that bench/attacks.ts carries out: what each of their connections sends, and at which pace. The pace is
 * that of the whole attack unless it says otherwise; connections that the server closes are replaced within it.
 */
import type { Socket } from 'node:net';
import {
  ACKNOWLEDGEMENT,
  frameOf,
  grpcHeaders,
  grpcHeadersWithTable,
  PREFACE,
  SETTINGS_FRAME,
  TABLE_REFERENCE,
} from '../../test/support/http2-frames.ts';
import { FETCH_LATEST, QUERY_EVENTS, TRANSACT } from '../peers/cairn.ts';
import { grpcHeaders as benchHeaders, grpcMessage, Http2Connection } from './http2-connection.ts';
import { bytesField } from './protobuf.ts';

/** Databases of the attacked node: one for other clients, and one with events of `LARGE_EVENT_BYTES`. */
export const SHOP = 'shop';
export const LARGE = 'large';
export const LARGE_EVENTS = 60;
export const LARGE_EVENT_BYTES = 900_000;

/** Addresses of a node: host:port, or a URL. */
export interface Addresses {
  readonly grpc: string;
  readonly http: string;
  readonly mcp: string;
  readonly metrics: string;
  readonly peer: string;
}

export type Port = keyof Addresses;

/** One connection of an attack, which is closed by the server only. */
export interface Link {
  readonly socket: Socket;
  /** Sends the bytes, unless earlier ones wait in this process. */
  send(bytes: Uint8Array): void;
  /** Runs again and again while the connection is open. */
  every(ms: number, act: () => void): void;
}

type Behaviour = (link: Link) => void;

export interface Attack {
  readonly name: string;
  readonly ports: readonly Port[];
  readonly connections: number;
  /** New connections a second. */
  readonly opensPerSecond: number;
  /** Behaviour of each connection, for the reader. */
  readonly what: string;
  /** Bytes of the transactions of other clients, if not small. */
  readonly otherBytes?: number;
  /** Prepares the attack on a port; the result runs for each connection. */
  on(port: Port, at: Addresses): Behaviour | Promise<Behaviour>;
}

const [DATA, HEADERS, RST_STREAM, SETTINGS, PING, CONTINUATION] = [0, 1, 3, 4, 6, 9];
const [END_STREAM, END_HEADERS] = [1, 4];
const TICK_MS = 20;
const SECOND_MS = 1_000;
const KIB = 1024;
const OPENED = Buffer.concat([PREFACE, SETTINGS_FRAME, ACKNOWLEDGEMENT]);
const PEER_PING = '/cairn.peer.v1.PeerExchange/Ping';

const ALL: readonly Port[] = ['http', 'grpc', 'mcp', 'metrics', 'peer'];
const OF_HTTP2: readonly Port[] = ['grpc', 'peer'];
const isHttp2 = (port: Port): boolean => OF_HTTP2.includes(port);
const pathOf = (port: Port): string => (port === 'peer' ? PEER_PING : FETCH_LATEST);
const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');

/** Sends without reading replies into memory. */
function sending(first: Uint8Array, again?: { readonly everyMs: number; readonly bytes: Uint8Array }): Behaviour {
  return (link) => {
    link.socket.resume();
    if (first.length > 0) link.send(first);
    if (again !== undefined) link.every(again.everyMs, () => link.send(again.bytes));
  };
}

/** Sends the same frames over and over, on an open connection. */
function flooding(frame: Buffer, bytesPerTick: number, first: Buffer = Buffer.alloc(0)): Behaviour {
  const bytes = Buffer.alloc(bytesPerTick - (bytesPerTick % frame.length), frame);
  return sending(Buffer.concat([OPENED, first]), { everyMs: TICK_MS, bytes });
}

/** Begins complete calls and resets each at once. */
function resetting(path: string, perTick: number): Behaviour {
  const message = frameOf({ type: DATA, flags: END_STREAM, stream: 0, payload: grpcMessage(bytesField(1, SHOP)) });
  const head = frameOf({ type: HEADERS, flags: END_HEADERS, stream: 0, payload: grpcHeaders(path) });
  const reset = frameOf({ type: RST_STREAM, flags: 0, stream: 0, payload: Buffer.of(0, 0, 0, 8) });
  const frames = [head, message, reset];
  const STREAM_AT = 5;
  return (link) => {
    let stream = 1;
    const batch = (): Buffer => {
      const bytes = Buffer.concat(Array.from({ length: perTick }, () => frames).flat());
      for (let at = 0; at < bytes.length; stream += 2)
        for (const frame of frames) {
          bytes.writeUInt32BE(stream, at + STREAM_AT);
          at += frame.length;
        }
      return bytes;
    };
    link.socket.resume();
    link.send(OPENED);
    link.every(TICK_MS, () => link.send(batch()));
  };
}

interface Calls {
  readonly path: string;
  readonly message: Buffer;
  readonly count: number;
  /** Bytes of each reply that are accepted at once, and again each second. */
  readonly windowBytes: number;
  readonly isHalf?: boolean;
}

/**
 * Keeps calls open whose replies are read slowly or not at all, or whose requests do not end. Each second, calls that
 * were refused or ended are replaced.
 */
function calling({ path, message, count, windowBytes, isHalf = false }: Calls): Behaviour {
  const headers = benchHeaders(path);
  return (link) => {
    const connection = new Http2Connection(link.socket, { windowBytes });
    const onEnd = (): void => undefined;
    link.socket.resume();
    const fill = (): void => {
      while (connection.isOpen && connection.callCount < Math.min(count, connection.streamsMax)) {
        if (isHalf) connection.callWithoutEnd(headers, message, { onEnd });
        else connection.call(headers, message, { onEnd });
      }
    };
    link.socket.once('data', fill);
    link.every(SECOND_MS, fill);
    if (windowBytes > 0) link.every(SECOND_MS, () => connection.grant(windowBytes));
  };
}

/** Sends pipelined requests, and reads so many bytes of the replies each second. */
function sipping(requests: string, bytesPerSecond: number): Behaviour {
  return (link) => {
    link.send(latin1(requests));
    link.every(SECOND_MS, () => void link.socket.read(bytesPerSecond));
  };
}

function post(path: string, length: number, headers = ''): string {
  const types = 'Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n';
  return `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${types}${headers}Content-Length: ${length}\r\n\r\n`;
}

/** A request to MCP that reads a page of large events, in a session of its own. */
async function toolCall(mcp: string): Promise<string> {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const clientInfo = { name: 'bench', version: '1' };
  const params = { protocolVersion: '2025-03-26', capabilities: {}, clientInfo };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
  const begun = await fetch(mcp, { method: 'POST', headers, body });
  const session = begun.headers.get('mcp-session-id');
  if (session === null) throw new Error(`MCP began no session: ${await begun.text()}`);
  const call = { name: 'fetch', arguments: { path: `/db/${LARGE}/latest/events` } };
  const asked = JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: call });
  return `${post(new URL(mcp).pathname, asked.length, `Mcp-Session-Id: ${session}\r\n`)}${asked}`;
}

const SLOW_STREAMS = 10;
const HALF_BYTES = 240_000;
const ANNOUNCED_BYTES = 1_000_000;
const HALF_MESSAGE = Buffer.concat([Buffer.of(0), Buffer.alloc(4), Buffer.alloc(HALF_BYTES)]);
HALF_MESSAGE.writeUInt32BE(ANNOUNCED_BYTES, 1);

/** Header block of a call, and 4,000 references to a header of 3,900 bytes in the HPACK table. */
const REFERENCES = grpcHeadersWithTable(FETCH_LATEST, Buffer.alloc(4_000, TABLE_REFERENCE));

const stalledBody: Attack['on'] = (port, at) => {
  if (port === 'grpc')
    return calling({ path: TRANSACT, message: HALF_MESSAGE, count: 1, windowBytes: 0, isHalf: true });
  const path = port === 'http' ? `/api/v1/db/${SHOP}` : new URL(at.mcp).pathname;
  const half = Buffer.concat([latin1(`${post(path, ANNOUNCED_BYTES)}{"events":["`), Buffer.alloc(HALF_BYTES, 'x')]);
  return sending(half);
};

export const ATTACKS: readonly Attack[] = [
  {
    name: 'slowloris',
    ports: ALL,
    connections: 1_000,
    opensPerSecond: 500,
    what: 'sends the headers of a request, over HTTP/2 the first frame after the preface, one byte a second',
    on: (port) => {
      const http2 = Buffer.concat([PREFACE, Buffer.from([0, 0x40, 0, HEADERS, 0, 0, 0, 0, 1])]);
      const begins = isHttp2(port) ? http2 : latin1('GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: ');
      return sending(begins, { everyMs: SECOND_MS, bytes: latin1('x') });
    },
  },
  {
    name: 'idle',
    ports: ALL,
    connections: 5_000,
    opensPerSecond: 1_000,
    what: 'sends nothing, over HTTP/2 only the preface and its settings',
    on: (port) => sending(isHttp2(port) ? OPENED : Buffer.alloc(0)),
  },
  {
    name: 'slow readers',
    ports: ['grpc', 'http', 'mcp', 'metrics'],
    connections: 200,
    opensPerSecond: 100,
    what: 'reads 10 replies, of gRPC 54 MB each, of HTTP 8 MB; 4 KiB of each a second',
    on: async (port, at) => {
      const message = grpcMessage(bytesField(1, LARGE));
      const windowBytes = 4 * KIB;
      if (port === 'grpc') return calling({ path: QUERY_EVENTS, message, count: SLOW_STREAMS, windowBytes });
      const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;
      const one =
        port === 'mcp'
          ? await toolCall(at.mcp)
          : get(port === 'http' ? `/databases/${LARGE}/events?limit=1000` : '/metrics');
      return sipping(one.repeat(SLOW_STREAMS), SLOW_STREAMS * windowBytes);
    },
  },
  {
    name: 'unread replies',
    ports: ['grpc'],
    connections: 40,
    opensPerSecond: 40,
    what: 'begins up to 1,000 small calls, and reads no reply',
    on: () => calling({ path: FETCH_LATEST, message: grpcMessage(bytesField(1, SHOP)), count: 1_000, windowBytes: 0 }),
  },
  {
    name: 'stalled bodies',
    ports: ['grpc', 'http', 'mcp'],
    connections: 200,
    opensPerSecond: 200,
    what: 'sends 240 KB of a body of 1 MB',
    on: stalledBody,
  },
  {
    name: 'half requests beside large ones',
    ports: ['grpc'],
    connections: 700,
    opensPerSecond: 350,
    what: 'sends 240 KB of a body of 1 MB; other clients send transactions of 400 KB',
    otherBytes: 400_000,
    on: stalledBody,
  },
  {
    name: 'unacknowledged settings',
    ports: OF_HTTP2,
    connections: 700,
    opensPerSecond: 350,
    what: 'sends 30 KB of calls, and does not acknowledge SETTINGS',
    on: (port) => {
      const one = frameOf({ type: HEADERS, flags: END_HEADERS, stream: 1, payload: grpcHeaders(pathOf(port)) });
      const calls = Buffer.alloc(30_000 - (30_000 % one.length), one);
      return sending(Buffer.concat([PREFACE, SETTINGS_FRAME, calls]));
    },
  },
  {
    name: 'rapid reset',
    ports: OF_HTTP2,
    connections: 10,
    opensPerSecond: 5,
    what: 'begins 10,000 calls a second, and resets each at once',
    on: (port) => resetting(pathOf(port), 200),
  },
  {
    name: 'CONTINUATION flood',
    ports: OF_HTTP2,
    connections: 10,
    opensPerSecond: 50,
    what: 'sends headers that do not end, 1 MiB a second in frames of 100 bytes',
    on: (port) => {
      const first = frameOf({ type: HEADERS, flags: 0, stream: 1, payload: grpcHeaders(pathOf(port)) });
      const more = frameOf({ type: CONTINUATION, flags: 0, stream: 1, payload: Buffer.alloc(100, 0x80 | 15) });
      return flooding(more, 20 * KIB, first);
    },
  },
  {
    name: 'SETTINGS flood',
    ports: OF_HTTP2,
    connections: 10,
    opensPerSecond: 5,
    what: 'sends 110,000 SETTINGS a second (1 MB)',
    on: () => flooding(frameOf({ type: SETTINGS, flags: 0, stream: 0, payload: Buffer.alloc(0) }), 20 * KIB),
  },
  {
    name: 'PING flood',
    ports: OF_HTTP2,
    connections: 10,
    opensPerSecond: 5,
    what: 'sends 60,000 PING a second (1 MB)',
    on: () => flooding(frameOf({ type: PING, flags: 0, stream: 0, payload: Buffer.alloc(8) }), 20 * KIB),
  },
  {
    name: 'HPACK references',
    ports: OF_HTTP2,
    connections: 10,
    opensPerSecond: 50,
    what: 'sends calls with 4,000 references to a header of 3.9 KB',
    on: () =>
      flooding(frameOf({ type: HEADERS, flags: END_HEADERS | END_STREAM, stream: 1, payload: REFERENCES }), 20 * KIB),
  },
];

// A trace collector for tests: receives spans over OTLP/HTTP with protobuf on loopback. It decodes
// opentelemetry/proto/trace/v1/trace.proto itself, not with the library that encoded them.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { eventually } from './eventually.ts';

type Value = string | number | boolean | undefined;

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for the root span of a trace. */
  readonly parentId: string;
  readonly name: string;
  readonly kind: 'internal' | 'server' | 'client' | 'other';
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly attributes: Readonly<Record<string, Value>>;
  /** Attributes of the process. */
  readonly resource: Readonly<Record<string, Value>>;
  readonly events: readonly string[];
  readonly links: readonly { readonly traceId: string; readonly spanId: string; readonly state: string }[];
  readonly isError: boolean;
}

export interface OtlpReceiver extends AsyncDisposable {
  /** `http://host:port`. */
  readonly endpoint: string;
  readonly spans: readonly ReceivedSpan[];
  /** Number of received requests, regardless of the reply. */
  readonly requests: number;
  /** Status of the following replies; initially 200. */
  status: number;
  /** Waits until such spans have arrived; fails with the names of the received ones. */
  until(what: string, holds: (spans: readonly ReceivedSpan[]) => boolean): Promise<readonly ReceivedSpan[]>;
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  let requests = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      requests += 1;
      const isKnown = request.method === 'POST' && request.url === '/v1/traces';
      if (isKnown && receiver.status === 200) {
        const sent = Buffer.concat(chunks);
        spans.push(...readSpans(request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent));
      }
      response.writeHead(isKnown ? receiver.status : 404, { 'content-type': 'application/x-protobuf' }).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const receiver: OtlpReceiver = {
    endpoint: `http://127.0.0.1:${port}`,
    status: 200,
    spans,
    get requests() {
      return requests;
    },
    until: (what, holds) =>
      eventually(() => {
        if (holds(spans)) return [...spans];
        throw new Error(`No ${what} yet; there are ${spans.map(({ name }) => name).join(', ')}`);
      }),
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return receiver;
}

type Mutable = { -readonly [Key in keyof ReceivedSpan]: ReceivedSpan[Key] } & {
  attributes: Record<string, Value>;
  events: string[];
  links: ReceivedSpan['links'][number][];
};

const KINDS: Readonly<Record<number, ReceivedSpan['kind']>> = { 1: 'internal', 2: 'server', 3: 'client' };
const ERROR = 2;

/** ExportTraceServiceRequest: 1 ResourceSpans* (1 Resource (1 KeyValue*), 2 ScopeSpans* (2 Span*)). */
function readSpans(bytes: Uint8Array): readonly ReceivedSpan[] {
  const spans: ReceivedSpan[] = [];
  eachField(bytes, {
    1: (ofResource) => {
      const resource: Record<string, Value> = {};
      eachField(ofResource, { 1: (each) => eachField(each, { 1: (pair) => readPair(pair, resource) }) });
      eachField(ofResource, {
        2: (ofScope) => eachField(ofScope, { 2: (span) => void spans.push(readSpan(span, resource)) }),
      });
    },
  });
  return spans;
}

function readSpan(bytes: Uint8Array, resource: Record<string, Value>): ReceivedSpan {
  const attributes: Record<string, Value> = {};
  const span: Mutable = { ...EMPTY, resource, attributes, events: [], links: [] };
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field === 1) span.traceId = hexOf(reader.bytes());
    else if (field === 2) span.spanId = hexOf(reader.bytes());
    else if (field === 4) span.parentId = hexOf(reader.bytes());
    else if (field === 5) span.name = reader.string();
    else if (field === 6) span.kind = KINDS[reader.int32()] ?? 'other';
    else if (field === 7) span.startNs = BigInt(reader.fixed64());
    else if (field === 8) span.endNs = BigInt(reader.fixed64());
    else if (field === 9) readPair(reader.bytes(), attributes);
    else if (field === 11) eachField(reader.bytes(), { 2: (name) => void span.events.push(textOf(name)) });
    else if (field === 13) span.links.push(readLink(reader.bytes()));
    else if (field === 15) span.isError = statusOf(reader.bytes()) === ERROR;
    else reader.skip(wireType);
  }
  return span;
}

const EMPTY = {
  traceId: '',
  spanId: '',
  parentId: '',
  name: '',
  kind: 'other',
  startNs: 0n,
  endNs: 0n,
  isError: false,
} as const;

function readLink(bytes: Uint8Array): ReceivedSpan['links'][number] {
  const link = { traceId: '', spanId: '', state: '' };
  eachField(bytes, {
    1: (id) => void (link.traceId = hexOf(id)),
    2: (id) => void (link.spanId = hexOf(id)),
    3: (state) => void (link.state = textOf(state)),
  });
  return link;
}

/** Status: 2 message, 3 code. */
function statusOf(bytes: Uint8Array): number {
  const reader = new BinaryReader(bytes);
  let code = 0;
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field === 3) code = reader.int32();
    else reader.skip(wireType);
  }
  return code;
}

/** KeyValue: 1 key, 2 AnyValue (1 string, 2 bool, 3 int64, 4 double). */
function readPair(bytes: Uint8Array, into: Record<string, Value>): void {
  let key = '';
  let value: Value;
  eachField(bytes, {
    1: (text) => void (key = textOf(text)),
    2: (any) => {
      const reader = new BinaryReader(any);
      while (reader.pos < reader.len) {
        const [field, wireType] = reader.tag();
        if (field === 1) value = reader.string();
        else if (field === 2) value = reader.bool();
        else if (field === 3) value = Number(reader.int64());
        else if (field === 4) value = reader.double();
        else reader.skip(wireType);
      }
    },
  });
  into[key] = value;
}

/** Passes the length-delimited fields of a message to handlers and skips all others. */
function eachField(bytes: Uint8Array, take: Readonly<Record<number, (field: Uint8Array) => void>>): void {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    const taker = wireType === WireType.LengthDelimited ? take[field] : undefined;
    if (taker === undefined) reader.skip(wireType);
    else taker(reader.bytes());
  }
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString();
}

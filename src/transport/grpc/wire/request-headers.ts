/**
 * The headers of a call, and their faults.
 *
 * Faults are found before the message is read, and answered with the value and the remedy (docs/errors.md). gRPC's own
 * documents name some statuses (statuscodes.md, compression.md). Everything else that is malformed is INVALID_ARGUMENT
 * (ADR 0181). They do not cover messages in an unknown form: these are UNIMPLEMENTED, like an unknown compression
 * (grpc-go's issue 1824 decides the same for its server).
 */
import type { IncomingHttpHeaders } from 'node:http2';
import { headerRule, OWN_PREFIX, untakenRule } from '../../own-headers.ts';
import { type FrameFault, isPacking, type Packing } from './frame-reader.ts';
import type { Fields } from './status.ts';

/** Headers for the gRPC server, not for the handler of the call. */
const NOT_METADATA: readonly string[] = [
  'grpc-timeout',
  'grpc-encoding',
  'grpc-accept-encoding',
  'accept-encoding',
  'te',
  'content-type',
];
const PRINTABLE = /^[\x20-\x7e]*$/;

/**
 * A client may have sent some of them more than once. node:http2 keeps only the first `authorization` and its like, and
 * joins other values. It reports the headers as sent when it passes the stream on, which may be after the request.
 */
export class RequestHeaders {
  /** The headers as node:http2 gives them, which identify the call. */
  readonly known: IncomingHttpHeaders;
  /** Undefined once the stream was handed on. */
  #handedOn: PromiseWithResolvers<void> | 'awaited' | undefined = 'awaited';
  /** Names and values alternating; absent: each was sent once. */
  #raw: readonly string[] | undefined;

  constructor(known: IncomingHttpHeaders) {
    this.known = known;
  }

  get path(): string {
    return this.known[':path'] ?? '';
  }

  /** The compression of messages that the request names. */
  get encoding(): string | undefined {
    const encoding = this.known['grpc-encoding'];
    return typeof encoding === 'string' ? encoding : undefined;
  }

  /** The same, if it is supported. */
  get packing(): Packing | undefined {
    const { encoding } = this;
    return isPacking(encoding) ? encoding : undefined;
  }

  /** Everything that the client sent with it. */
  get metadata(): Fields {
    return Object.fromEntries(
      Object.entries(this.known).filter(
        ([name, value]) => !name.startsWith(':') && !NOT_METADATA.includes(name) && PRINTABLE.test(String(value)),
      ),
    );
  }

  /** A text header, by its lowercase name. */
  text(name: string): string | undefined {
    const value = this.known[name];
    return typeof value === 'string' && PRINTABLE.test(value) ? value : undefined;
  }

  /** Undefined: it is known already which headers are repeated. */
  get untilKnown(): Promise<void> | undefined {
    if (this.#handedOn === 'awaited') this.#handedOn = Promise.withResolvers();
    return this.#handedOn?.promise;
  }

  /** The names and values in `raw` are those from which the headers were made. */
  handOn(raw: readonly string[]): void {
    const pairs = raw.length / 2;
    if (pairs > Object.keys(this.known).length) this.#raw = raw;
    const waiting = this.#handedOn;
    this.#handedOn = undefined;
    if (waiting !== 'awaited') waiting?.resolve();
  }

  /** True when there are repeated headers. */
  get hasRepeated(): boolean {
    return this.#raw !== undefined;
  }

  /**
   * All values of a repeated header, by its lowercase name; none if it was sent once. A cookie may be split (RFC 9113,
   * 8.2.3).
   */
  repeated(name: string): readonly string[] {
    if (this.#raw === undefined || name === 'cookie') return [];
    const values = this.#raw.filter((_value, at, raw) => at % 2 === 1 && raw[at - 1] === name);
    return values.length > 1 ? values : [];
  }
}

/** Headers of ours that every method takes. */
export const ASKING: readonly string[] = ['x-min-revision', 'x-require-leader'];

/** Media types are case-insensitive and may have parameters (RFC 9110, 8.3.1). */
const MEDIA_TYPE = /^application\/grpc(\+[^;\s]*)?(?:\s*;.*)?$/i;

const MEDIA_RULE = 'must be application/grpc or application/grpc+proto';
const TIMEOUT = /^\d{1,8}[HMSmun]$/;
const TIMEOUT_RULE = 'must be 1 to 8 digits and a unit of H, M, S, m, u or n, such as 500m';
/** Timers count milliseconds in 32 bits. Longer timeouts become this one, of three weeks. */
const SECONDS_MAX = 2_000_000;
const MS_OF_UNIT: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };

interface HeadLimits {
  /** Limit for all names and values. */
  readonly headerBytesMax: number;
  /** Limit for different names, including those of HTTP/2 itself. */
  readonly headersMax: number;
  /** At a higher number the connection ends: each header is work before the stream can be refused. */
  readonly headerPairsMax: number;
  /** The same for their bytes: more than can arrive without an HPACK table. */
  readonly floodBytesMax: number;
}

export const HEAD_LIMITS: HeadLimits = {
  headerBytesMax: 16 * 1024,
  headersMax: 128,
  headerPairsMax: 256,
  floodBytesMax: 256 * 1024,
};

/**
 * Returns the first fault of the headers; `taken`: those of ours that the method takes. Shortens a timeout in them that
 * is longer than a timer can wait.
 */
export function headFault(headers: IncomingHttpHeaders, taken: readonly string[]): FrameFault | undefined {
  const method = headers[':method'];
  if (method !== 'POST') return headerFault(':method', 'must be POST', method ?? '');
  const { count, bytes } = sizeOf(headers);
  const { headerBytesMax, headersMax, floodBytesMax } = HEAD_LIMITS;
  if (bytes > headerBytesMax) {
    const what = `The headers have ${bytes} bytes; they may have at most ${headerBytesMax}`;
    return { what, code: 'too_large', isFlood: bytes > floodBytesMax };
  }
  if (count > headersMax) {
    return { what: `The request has ${count} headers; it may have at most ${headersMax}`, code: 'too_large' };
  }
  const fault = mediaFault(headers);
  if (fault !== undefined) return fault;
  for (const name in headers) {
    const rule = name.startsWith(OWN_PREFIX) ? (headerRule(name) ?? untakenRule(name, taken)) : undefined;
    if (rule !== undefined) return headerFault(name, rule, String(headers[name]));
  }
  for (const name of ASKING) {
    const value = headers[name];
    if (typeof value === 'string' && !PRINTABLE.test(value))
      return headerFault(name, 'must consist of printable ASCII characters', value);
  }
  return timeoutFault(headers);
}

function headerFault(name: string, rule: string, value: string | undefined): FrameFault {
  return { what: { name, rule, value } };
}

function mediaFault(headers: IncomingHttpHeaders): FrameFault | undefined {
  const type = headers['content-type'];
  // The common case.
  if (type === 'application/grpc' || type === 'application/grpc+proto') return undefined;
  const media = MEDIA_TYPE.exec(type ?? '');
  if (media === null) return { ...headerFault('content-type', MEDIA_RULE, type), isForeign: true };
  const codec = media[1]?.toLowerCase() ?? '+proto';
  if (codec === '+proto') return undefined;
  const rule = `${MEDIA_RULE}, because messages are protobuf`;
  return { ...headerFault('content-type', rule, type), as: 'UNIMPLEMENTED' };
}

function sizeOf(headers: IncomingHttpHeaders): { readonly count: number; readonly bytes: number } {
  let count = 0;
  let bytes = 0;
  for (const name in headers) {
    const value = headers[name] ?? '';
    count += 1;
    bytes += name.length + (typeof value === 'string' ? value : value.join()).length;
  }
  return { count, bytes };
}

function timeoutFault(headers: IncomingHttpHeaders): FrameFault | undefined {
  const timeout = headers['grpc-timeout'];
  if (timeout === undefined) return undefined;
  // Repeated values are joined by a comma.
  if (typeof timeout !== 'string' || !TIMEOUT.test(timeout))
    return headerFault('grpc-timeout', TIMEOUT_RULE, String(timeout));
  if (msOf(timeout) > 1000 * SECONDS_MAX) headers['grpc-timeout'] = `${SECONDS_MAX}S`;
  return undefined;
}

/** The timeout of a call with valid headers, in whole milliseconds; undefined: none. */
export function timeoutMs(headers: IncomingHttpHeaders): number | undefined {
  const timeout = headers['grpc-timeout'];
  return typeof timeout === 'string' && TIMEOUT.test(timeout) ? Math.trunc(msOf(timeout)) : undefined;
}

function msOf(timeout: string): number {
  return Number(timeout.slice(0, -1)) * (MS_OF_UNIT[timeout.slice(-1)] ?? 1);
}

/**
 * What can be wrong with a request before its message is looked at: its headers, and its frames.
 *
 * It is found where the bytes come in, and answered with the value and the remedy (docs/errors.md).
 */
import type { IncomingHttpHeaders } from 'node:http2';
import { HEADER_PAIRS_MAX } from '../../opening.ts';
import { headerRule, untakenRule } from '../../own-headers.ts';

export type FrameFault =
  | { readonly kind: 'method'; readonly value: string }
  /** It is not of gRPC. */
  | { readonly kind: 'content-type'; readonly value: string | undefined }
  /** It is of gRPC, with messages in another form than that of protobuf. */
  | { readonly kind: 'codec'; readonly value: string }
  | { readonly kind: 'path'; readonly value: string }
  /** All headers together. */
  | { readonly kind: 'headers-too-long'; readonly bytes: number; readonly bytesMax: number }
  | { readonly kind: 'too-many-headers'; readonly count: number; readonly countMax: number }
  | { readonly kind: 'timeout'; readonly value: string }
  /** A header that asks for something has characters that no metadata may have. */
  | { readonly kind: 'metadata'; readonly name: string; readonly value: string }
  | { readonly kind: 'header'; readonly name: string; readonly rule: string; readonly value: string }
  /** The first byte of a message is neither 0 nor 1. */
  | { readonly kind: 'flag'; readonly value: number }
  /** A message is compressed, and `grpc-encoding` is absent or says that it is not. */
  | { readonly kind: 'not-encoded'; readonly encoding: string | undefined }
  | { readonly kind: 'unknown-encoding'; readonly encoding: string }
  /** The prefix of a message announces so many bytes. */
  | { readonly kind: 'too-long'; readonly bytes: number; readonly bytesMax: number }
  | { readonly kind: 'second-message'; readonly firstBytes: number }
  | { readonly kind: 'no-message' }
  /** The stream ended inside of the five bytes before a message, or inside of the message. */
  | { readonly kind: 'cut-prefix'; readonly received: number }
  | { readonly kind: 'cut-message'; readonly received: number; readonly bytes: number }
  | { readonly kind: 'not-packed'; readonly encoding: string; readonly why: string }
  | { readonly kind: 'unpacked-too-long'; readonly encoding: string; readonly bytesMax: number };

/** What a message may be compressed by. */
export type Packing = 'gzip' | 'deflate';

export function isPacking(encoding: string | undefined): encoding is Packing {
  return encoding === 'gzip' || encoding === 'deflate';
}

/** Headers of ours that every method takes. */
export const ASKING: readonly string[] = ['x-min-revision', 'x-require-leader'];
const PRINTABLE = /^[\x20-\x7e]*$/;

/** Media types are the same in capitals, and may have parameters (RFC 9110, 8.3.1). */
const MEDIA_TYPE = /^application\/grpc(\+[^;\s]*)?(?:\s*;.*)?$/i;

const TIMEOUT = /^\d{1,8}[HMSmun]$/;
/** The milliseconds of a timer are counted in 32 bits. A longer one is as good as this one, of three weeks. */
const SECONDS_MAX = 2_000_000;
const MS_OF_UNIT: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };

interface HeadLimits {
  /** Of all, names and values. */
  readonly headerBytesMax: number;
  /** Of different names, those of HTTP/2 itself among them. */
  readonly headersMax: number;
  /** With more of them the connection ends: each is work before anybody can decide about the stream. */
  readonly headerPairsMax: number;
  /** The same for their bytes: more than what arrives can be without a table of HPACK. */
  readonly floodBytesMax: number;
}

/** Of the headers of a request. */
export const HEAD_LIMITS: HeadLimits = {
  headerBytesMax: 16 * 1024,
  headersMax: 128,
  headerPairsMax: HEADER_PAIRS_MAX,
  floodBytesMax: 256 * 1024,
};

/**
 * Returns the first fault of the headers; `taken`: those of ours that the method takes. Shortens a timeout in them that
 * is longer than a timer can wait.
 */
export function headFault(headers: IncomingHttpHeaders, taken: readonly string[]): FrameFault | undefined {
  const method = headers[':method'];
  if (method !== 'POST') return { kind: 'method', value: method ?? '' };
  const { count, bytes } = sizeOf(headers);
  const { headerBytesMax, headersMax } = HEAD_LIMITS;
  if (bytes > headerBytesMax) return { kind: 'headers-too-long', bytes, bytesMax: headerBytesMax };
  if (count > headersMax) return { kind: 'too-many-headers', count, countMax: headersMax };
  const fault = mediaFault(headers);
  if (fault !== undefined) return fault;
  for (const [name, value] of Object.entries(headers)) {
    const rule = headerRule(name) ?? untakenRule(name, taken);
    if (rule !== undefined) return { kind: 'header', name, rule, value: String(value) };
  }
  for (const name of ASKING) {
    const value = headers[name];
    if (value !== undefined && !PRINTABLE.test(String(value))) return { kind: 'metadata', name, value: String(value) };
  }
  return timeoutFault(headers);
}

function mediaFault(headers: IncomingHttpHeaders): FrameFault | undefined {
  const type = headers['content-type'];
  // Nearly always.
  if (type === 'application/grpc' || type === 'application/grpc+proto') return undefined;
  const media = MEDIA_TYPE.exec(type ?? '');
  if (media === null || type === undefined) return { kind: 'content-type', value: type };
  const codec = media[1]?.toLowerCase() ?? '+proto';
  if (codec !== '+proto') return { kind: 'codec', value: type };
  return undefined;
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
  // A header that is given twice is one with a comma.
  if (typeof timeout !== 'string' || !TIMEOUT.test(timeout)) return { kind: 'timeout', value: String(timeout) };
  if (msOf(timeout) > 1000 * SECONDS_MAX) headers['grpc-timeout'] = `${SECONDS_MAX}S`;
  return undefined;
}

/** What a call may take, of whose headers nothing is wrong: whole milliseconds; undefined: as long as it takes. */
export function timeoutMs(headers: IncomingHttpHeaders): number | undefined {
  const timeout = headers['grpc-timeout'];
  return typeof timeout === 'string' && TIMEOUT.test(timeout) ? Math.trunc(msOf(timeout)) : undefined;
}

function msOf(timeout: string): number {
  return Number(timeout.slice(0, -1)) * (MS_OF_UNIT[timeout.slice(-1)] ?? 1);
}

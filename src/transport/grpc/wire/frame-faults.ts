/**
 * Faults of a request before its message is read: of its headers and its frames.
 *
 * They are found as the bytes arrive, and answered with the value and the remedy (docs/errors.md).
 */
import type { IncomingHttpHeaders } from 'node:http2';
import { HEADER_PAIRS_MAX } from '../../opening.ts';
import { headerRule, untakenRule } from '../../own-headers.ts';

export type FrameFault =
  | { readonly kind: 'method'; readonly value: string }
  /** Not a request of gRPC. */
  | { readonly kind: 'content-type'; readonly value: string | undefined }
  /** A request of gRPC, with messages in another encoding than protobuf. */
  | { readonly kind: 'codec'; readonly value: string }
  | { readonly kind: 'path'; readonly value: string }
  /** All headers together. */
  | { readonly kind: 'headers-too-long'; readonly bytes: number; readonly bytesMax: number }
  | { readonly kind: 'too-many-headers'; readonly count: number; readonly countMax: number }
  | { readonly kind: 'timeout'; readonly value: string }
  /** A header that is an option has characters that metadata may not have. */
  | { readonly kind: 'metadata'; readonly name: string; readonly value: string }
  | { readonly kind: 'header'; readonly name: string; readonly rule: string; readonly value: string }
  /** The first byte of a message is neither 0 nor 1. */
  | { readonly kind: 'flag'; readonly value: number }
  /** A message is compressed, but `grpc-encoding` is absent or `identity`. */
  | { readonly kind: 'not-encoded'; readonly encoding: string | undefined }
  | { readonly kind: 'unknown-encoding'; readonly encoding: string }
  /** The prefix of a message announces this length. */
  | { readonly kind: 'too-long'; readonly bytes: number; readonly bytesMax: number }
  | { readonly kind: 'second-message'; readonly firstBytes: number }
  | { readonly kind: 'no-message' }
  /** The stream ended inside the five bytes before a message, or inside the message. */
  | { readonly kind: 'cut-prefix'; readonly received: number }
  | { readonly kind: 'cut-message'; readonly received: number; readonly bytes: number }
  | { readonly kind: 'not-packed'; readonly encoding: string; readonly why: string }
  | { readonly kind: 'unpacked-too-long'; readonly encoding: string; readonly bytesMax: number };

/** Supported compressions of messages. */
export type Packing = 'gzip' | 'deflate';

export function isPacking(encoding: string | undefined): encoding is Packing {
  return encoding === 'gzip' || encoding === 'deflate';
}

/** Headers of ours that every method takes. */
export const ASKING: readonly string[] = ['x-min-revision', 'x-require-leader'];
const PRINTABLE = /^[\x20-\x7e]*$/;

/** Media types are case-insensitive and may have parameters (RFC 9110, 8.3.1). */
const MEDIA_TYPE = /^application\/grpc(\+[^;\s]*)?(?:\s*;.*)?$/i;

const TIMEOUT = /^\d{1,8}[HMSmun]$/;
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

/** Limits of the headers of a request. */
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
  // The common case.
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
  // Repeated values are joined by a comma.
  if (typeof timeout !== 'string' || !TIMEOUT.test(timeout)) return { kind: 'timeout', value: String(timeout) };
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

/**
 * The header values of gRPC over HTTP/2: timeouts in, status messages and binary trailers out.
 *
 * Header lists are flat arrays of names and values, the form that node:http2 sends without looking at each entry.
 */
import type { CallStatus } from './status.ts';
import { GRPC_STATUS } from './status.ts';

export const CONTENT_TYPE = 'application/grpc';

/** The headers of every reply that has a body. */
export const REPLY_HEADERS: readonly string[] = [':status', '200', 'content-type', CONTENT_TYPE];

const TIMEOUT = /^(\d{1,8})([HMSmun])$/;
const MS_OF_UNIT: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 };

/** Milliseconds of a `grpc-timeout`, rounded up; undefined when the text is none. */
export function parseTimeout(text: string): number | undefined {
  const match = TIMEOUT.exec(text);
  if (match === null) return undefined;
  const [, count = '', unit = ''] = match;
  return Math.ceil(Number(count) * (MS_OF_UNIT[unit] ?? 0));
}

const PLAIN = /^[\x20-\x24\x26-\x7e]*$/;

/** A status message as the value of `grpc-message`: UTF-8, percent-encoded outside printable ASCII. */
export function encodeMessage(text: string): string {
  if (PLAIN.test(text)) return text;
  let encoded = '';
  for (const byte of Buffer.from(text, 'utf8')) {
    const plain = byte >= 0x20 && byte <= 0x7e && byte !== 0x25;
    encoded += plain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return encoded;
}

/** The trailers that end a call with this status. */
export function statusTrailers(status: CallStatus): Record<string, string> {
  const trailers: Record<string, string> = { 'grpc-status': String(GRPC_STATUS[status.code]) };
  if (status.message !== '') trailers['grpc-message'] = encodeMessage(status.message);
  if (status.details !== undefined) {
    trailers['grpc-status-details-bin'] = Buffer.from(status.details).toString('base64').replace(/=+$/, '');
  }
  return Object.assign(trailers, status.trailers);
}

/** The headers of a reply that has no body and ends the call. */
export function endingHeaders(status: CallStatus): readonly string[] {
  return [...REPLY_HEADERS, ...Object.entries(statusTrailers(status)).flat()];
}

/**
 * Answers failures below the level of a request: bytes that are not HTTP, headers that are too large, timeouts, unknown
 * methods and expectations. They get the same error body as other failures (TH1).
 *
 * Such an error ends the connection, because the start of the next request is unknown. A complete request before the
 * invalid bytes is answered first; it may be a write that commits.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { DatabaseError, quote } from '#base';
import type { AllowedOrigins } from '../origins.ts';
import { corsHeaders } from './cors.ts';
import { errorReply, invalidField } from './errors.ts';
import { HEADER_BYTES_MAX, HEADERS_MAX, HEADERS_TIMEOUT_MS, REQUEST_TIMEOUT_MS } from './limits.ts';
import { endLingering } from './lingering.ts';
import type { RequestLines } from './request-line.ts';

// An import would also load the WebSocket client of node:http, which is lazy otherwise.
const { STATUS_CODES } = process.getBuiltinModule('node:http');

const NOTHING = Buffer.alloc(0);
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+(?=:)/;

export interface SocketErrorOptions {
  readonly allowedOrigins: AllowedOrigins;
  readonly lines: RequestLines;
  /** Counts failures that do not reach a route, and are in no metric of requests. */
  readonly onMalformed: () => void;
}

/** Answers input that Node's parser refuses. */
export function answerClientError(error: Error, socket: Socket, options: SocketErrorOptions): void {
  if (socket.destroyed || !socket.writable || errorCode(error) === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  options.onMalformed();
  const text = rawReply(toClientError(error), options.allowedOrigins);
  const response = options.lines.lastWhole(socket);
  if (response?.writableEnded === true) {
    endWith(socket, response.shouldKeepAlive ? text : '');
    return;
  }
  if (response === undefined || !response.req.complete) {
    endWith(socket, response?.headersSent === true ? '' : text);
    return;
  }
  response.once('close', () => endWith(socket, text));
}

/** Answers requests that Node itself would answer with an empty body, or not at all. */
export function answerUnusualRequests(
  server: Server,
  { allowedOrigins, onMalformed }: Omit<SocketErrorOptions, 'lines'>,
): void {
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    onMalformed();
    const error = invalidField('Expect', 'must be 100-continue', request.headers.expect);
    response.shouldKeepAlive = false;
    sendRaw(response, error, allowedOrigins);
  });
  server.on('connect', (request: IncomingMessage, socket: Duplex) => {
    onMalformed();
    const error = new DatabaseError(
      'not_found',
      `There is no route CONNECT ${request.url ?? ''}; this is not a proxy.`,
    );
    endWith(socket, rawReply(error, allowedOrigins));
  });
}

function toClientError(error: Error): DatabaseError {
  const code = errorCode(error);
  if (code === 'HPE_HEADER_OVERFLOW') {
    const limits = `must be at most ${HEADERS_MAX}, and at most ${HEADER_BYTES_MAX} bytes, request line included`;
    const name = lastHeaderOf(error);
    return invalidField('headers', name === undefined ? limits : `${limits}; there are more, from ${quote(name)} on`);
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    const whole = `must arrive whole within ${REQUEST_TIMEOUT_MS} ms, and its headers within ${HEADERS_TIMEOUT_MS} ms`;
    return invalidField('request', whole);
  }
  const { bytes, parsed } = lastBytes(error);
  if (code === 'HPE_PAUSED_H2_UPGRADE')
    return invalidField('request', `must be ${ONLY}, and this begins HTTP/2`, offendingLine(bytes, 0));
  if (parsed === 0 && bytes[0] === TLS_BEGINS[0] && bytes[1] === TLS_BEGINS[1])
    return invalidField('request', `must be without TLS and ${ONLY}, and this begins TLS`, offendingLine(bytes, 0));
  const reason = 'reason' in error && typeof error.reason === 'string' ? `: ${error.reason.toLowerCase()}` : '';
  return invalidField('request', `must be well-formed HTTP/1.1${reason}`, offendingLine(bytes, parsed));
}

const ONLY = 'HTTP/1.1, which is all that this port speaks';
const TLS_BEGINS = [0x16, 0x03];
/** Characters of a long line shown before the wrong one. */
const SHOWN_BEFORE = 32;

/** The line where the parser failed, or the end of it before the failure; undefined without bytes. */
function offendingLine(bytes: Buffer, parsed: number): string | undefined {
  if (bytes.length === 0) return undefined;
  // When the line end is wrong, the position of the parser may be after it.
  const at = Math.min(parsed, bytes.length - 1);
  const begin = at === 0 ? 0 : bytes.lastIndexOf('\n', at - 1) + 1;
  const end = bytes.indexOf('\n', at);
  const line = bytes.toString('latin1', Math.max(begin, at - SHOWN_BEFORE), end === -1 ? bytes.length : end);
  return line.replace(/\r$/, '');
}

/** The header where Node's parser failed, as far as the last bytes contain it. */
function lastHeaderOf(error: Error): string | undefined {
  const { bytes, parsed } = lastBytes(error);
  const last = bytes.toString('latin1', 0, parsed).trimEnd().split('\n').at(-1) ?? '';
  return HEADER_NAME.exec(last)?.[0];
}

/** The last bytes given to Node's parser, and how many it had parsed. */
function lastBytes(error: Error): { readonly bytes: Buffer; readonly parsed: number } {
  return {
    bytes: 'rawPacket' in error && Buffer.isBuffer(error.rawPacket) ? error.rawPacket : NOTHING,
    parsed: 'bytesParsed' in error && typeof error.bytesParsed === 'number' ? error.bytesParsed : 0,
  };
}

function rawReply(error: DatabaseError, allowedOrigins: AllowedOrigins): string {
  const { status, headers, contentType, body = '' } = errorReply(error);
  const all = {
    ...headers,
    ...corsHeaders(allowedOrigins, undefined),
    ...(contentType === undefined ? {} : { 'content-type': contentType }),
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${body}`;
}

function sendRaw(response: ServerResponse, error: DatabaseError, allowedOrigins: AllowedOrigins): void {
  const { status, headers, contentType, body = '' } = errorReply(error);
  const type = contentType === undefined ? {} : { 'content-type': contentType };
  response.writeHead(status, { ...headers, ...corsHeaders(allowedOrigins, undefined), ...type });
  response.end(body);
}

function endWith(socket: Duplex, text: string): void {
  if (socket.destroyed || !socket.writable) return;
  endLingering(socket, text);
}

function errorCode(error: Error): string | undefined {
  return 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

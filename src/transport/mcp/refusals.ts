/** Refusals before the protocol's library receives the request: an error of JSON-RPC, and a status. */
import type { ServerResponse } from 'node:http';
import type { RequestId } from './messages.ts';

const SERVER_ERROR = -32_000;
const INVALID_REQUEST = -32_600;
const PARSE_ERROR = -32_700;

type Headers = Readonly<Record<string, string>>;

export function refuse(response: ServerResponse, status: number, message: string, headers: Headers = {}): void {
  answer(response, status, { error: { code: SERVER_ERROR, message }, id: null }, headers);
}

export function refuseJson(response: ServerResponse, message: string): void {
  answer(response, 400, { error: { code: PARSE_ERROR, message }, id: null });
}

export function refuseRequest(response: ServerResponse, id: RequestId, message: string): void {
  answer(response, 400, { error: { code: INVALID_REQUEST, message }, id });
}

function answer(response: ServerResponse, status: number, refusal: object, headers: Headers = {}): void {
  const body = JSON.stringify({ jsonrpc: '2.0', ...refusal });
  const length = Buffer.byteLength(body);
  response.writeHead(status, { ...headers, 'content-type': 'application/json', 'content-length': length });
  response.end(body);
}

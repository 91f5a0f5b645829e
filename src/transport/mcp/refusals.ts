/** Refusals before the protocol's library has the request: an error of JSON-RPC without an id, and a status. */
import type { ServerResponse } from 'node:http';

const SERVER_ERROR = -32_000;
const PARSE_ERROR = -32_700;

export function refuse(
  response: ServerResponse,
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  answer(response, { status, code: SERVER_ERROR, message, headers });
}

export function refuseJson(response: ServerResponse, message: string): void {
  answer(response, { status: 400, code: PARSE_ERROR, message, headers: {} });
}

function answer(
  response: ServerResponse,
  {
    status,
    code,
    message,
    headers,
  }: { status: number; code: number; message: string; headers: Readonly<Record<string, string>> },
): void {
  const body = JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id: null });
  response.writeHead(status, {
    ...headers,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
}

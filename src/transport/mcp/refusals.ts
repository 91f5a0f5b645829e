/** Refusals before the protocol's library receives the request: an error of JSON-RPC, and a status. */
import type { ServerResponse } from 'node:http';
import type { RequestId } from './messages.ts';

const SERVER_ERROR = -32_000;
const INVALID_REQUEST = -32_600;
const PARSE_ERROR = -32_700;

export function refuse(
  response: ServerResponse,
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  answer(response, { status, headers, id: null, error: { code: SERVER_ERROR, message } });
}

export function refuseJson(response: ServerResponse, message: string): void {
  answer(response, { status: 400, headers: {}, id: null, error: { code: PARSE_ERROR, message } });
}

/** Refuses the request of a body with this id. */
export function refuseRequest(response: ServerResponse, id: RequestId, message: string): void {
  answer(response, { status: 400, headers: {}, id, error: { code: INVALID_REQUEST, message } });
}

interface Refusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly id: RequestId | null;
  readonly error: { readonly code: number; readonly message: string };
}

function answer(response: ServerResponse, { status, headers, id, error }: Refusal): void {
  const body = JSON.stringify({ jsonrpc: '2.0', error, id });
  response.writeHead(status, {
    ...headers,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
}

/** A request to the API on behalf of the caller of a tool. */
import { ending, type Span, type Traced, type TraceHeaders } from '#observability';
import type { Api, ApiAnswer, ApiRequest } from './api.ts';

export interface ToolCall extends Traced {
  readonly api: Api;
  readonly authorization: string | undefined;
  readonly signal: AbortSignal;
}

/** The API has refused the request of the tool. */
export class RequestFailed extends Error {
  readonly status: number;

  constructor({ status, text }: ApiAnswer) {
    super(`Request failed with status ${status}: ${text}`);
    this.status = status;
  }
}

/**
 * The reply of the API.
 * @throws ApiFailure, RequestFailed
 */
export async function asked(
  { api, authorization, signal, span }: ToolCall,
  request: Omit<ApiRequest, 'authorization'>,
): Promise<string> {
  const answer = await inRequestSpan(span, request, (headers) => {
    return api.ask({ ...request, headers: { ...request.headers, ...headers }, authorization }, signal);
  });
  if (answer.status >= 400) throw new RequestFailed(answer);
  return answer.text === '' ? `Done (status ${answer.status}).` : answer.text;
}

/** Propagates the trace to the API. */
async function inRequestSpan(
  parent: Span | undefined,
  { method }: Pick<ApiRequest, 'method'>,
  ask: (headers: TraceHeaders | undefined) => Promise<ApiAnswer>,
): Promise<ApiAnswer> {
  if (parent === undefined) return ask(undefined);
  const span = parent.child(method, 'client', { 'http.request.method': method });
  return ending(span, async () => {
    const answer = await ask(span.headers());
    span.set({ 'http.response.status_code': answer.status });
    return answer;
  });
}

/** A request to the API on behalf of whoever calls a tool. */
import type { Api, ApiAnswer, ApiRequest } from './api.ts';

/** Of whom, and for how long, a tool asks. */
export interface ToolCall {
  readonly api: Api;
  readonly authorization: string | undefined;
  readonly signal: AbortSignal;
}

/** The API has refused what the tool asked for. */
export class RequestFailed extends Error {
  constructor({ status, text }: ApiAnswer) {
    super(`Request failed with status ${status}: ${text}`);
  }
}

/** What the API answers to that. @throws ApiFailure, RequestFailed */
export async function asked(
  { api, authorization, signal }: ToolCall,
  request: Omit<ApiRequest, 'authorization'>,
): Promise<string> {
  const answer = await api.ask({ ...request, authorization }, signal);
  if (answer.status >= 400) throw new RequestFailed(answer);
  return answer.text === '' ? `Done (status ${answer.status}).` : answer.text;
}

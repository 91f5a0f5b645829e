/**
 * Reads the part of JSON-RPC that is checked before the protocol's library: a message, or a batch of older revisions.
 */

/** The text "1" and the number 1 differ. */
export type RequestId = string | number;

interface Message {
  readonly method?: unknown;
  readonly id?: unknown;
  readonly params?: unknown;
}

function messagesOf(body: unknown): readonly Message[] {
  const all: readonly unknown[] = Array.isArray(body) ? body : [body];
  return all.filter(isObject);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

export function messageCount(body: unknown): number {
  return Array.isArray(body) ? body.length : 1;
}

export function methodsOf(body: unknown): readonly string[] {
  return messagesOf(body).flatMap(({ method }) => (typeof method === 'string' ? [method] : []));
}

/** Ids of the requests in a body, repeated ones included. */
export function requestIdsOf(body: unknown): readonly RequestId[] {
  return messagesOf(body).flatMap(({ method, id }) => (method !== undefined && isRequestId(id) ? [id] : []));
}

export function cancelledIn(body: unknown): readonly RequestId[] {
  const cancelling = messagesOf(body).filter(({ method }) => method === 'notifications/cancelled');
  return cancelling.flatMap(({ params }) => {
    return isObject(params) && 'requestId' in params && isRequestId(params.requestId) ? [params.requestId] : [];
  });
}

function isRequestId(id: unknown): id is RequestId {
  return typeof id === 'string' || typeof id === 'number';
}

export function isNotificationOf(body: unknown, method: string): boolean {
  return messagesOf(body).some((each) => each.method === method && each.id === undefined);
}

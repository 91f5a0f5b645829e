/** As much of JSON-RPC as is looked at before the protocol's library has it: a message or, of old, a batch. */

interface Message {
  readonly method?: unknown;
  readonly id?: unknown;
}

function messagesOf(body: unknown): readonly Message[] {
  const all: readonly unknown[] = Array.isArray(body) ? body : [body];
  return all.filter((each): each is Message => typeof each === 'object' && each !== null);
}

/** What one body asks for: a message each. */
export function messageCount(body: unknown): number {
  return Array.isArray(body) ? body.length : 1;
}

/** Of requests and notifications. */
export function methodsOf(body: unknown): readonly string[] {
  return messagesOf(body).flatMap(({ method }) => (typeof method === 'string' ? [method] : []));
}

/** Whether there is a request among them. */
export function wantsAnswer(body: unknown): boolean {
  return messagesOf(body).some(({ method, id }) => method !== undefined && id !== undefined);
}

export function isNotificationOf(body: unknown, method: string): boolean {
  return messagesOf(body).some((each) => each.method === method && each.id === undefined);
}

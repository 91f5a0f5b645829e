// Copies a message as posting it to another thread does, without transferred buffers. Plain data is copied here, which
// is cheaper than `structuredClone`; the latter handles the rest and rejects what cannot be posted.

export function posted<Message>(message: Message, given: readonly ArrayBuffer[] = []): Message {
  return copyOf(message, given) as Message;
}

const NEVER_SENT: ReadonlySet<string> = new Set(['function', 'symbol']);

function copyOf(value: unknown, given: readonly ArrayBuffer[]): unknown {
  if (typeof value !== 'object' || value === null) return NEVER_SENT.has(typeof value) ? structuredClone(value) : value;
  if (value instanceof Float64Array || value instanceof Uint8Array) return value.slice();
  if (value instanceof ArrayBuffer) return given.includes(value) ? value.transfer() : value.slice();
  if (Array.isArray(value)) return value.map((each) => copyOf(each, given));
  if (Object.getPrototypeOf(value) !== Object.prototype) return structuredClone(value);
  const copy: Record<string, unknown> = {};
  for (const [key, each] of Object.entries(value)) copy[key] = copyOf(each, given);
  return copy;
}

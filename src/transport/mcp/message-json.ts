/**
 * The JSON of a body, as values for the protocol's library.
 *
 * The arguments of a tool stay the bytes that were sent, so that a number of an event reaches the HTTP API with all of
 * its digits. No name may occur twice in an object outside of them; in them the tool judges that, or the HTTP API.
 */
import { type JsonFault, type JsonNode, parseJson } from '#model';

const RAW: ReadonlySet<string> = new Set(['arguments']);

class RawArguments {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  /** Nothing: the library writes a message as JSON once more, of which it reads the rest. */
  toJSON(): undefined {
    return undefined;
  }
}

export type ReadMessage = { readonly kind: 'read'; readonly value: unknown } | JsonFault;

export function readMessage(bytes: Uint8Array): ReadMessage {
  const node = parseJson(bytes, { raw: RAW });
  return node.kind === 'fault' ? node : { kind: 'read', value: valueOf(node) };
}

/** Those of a call; undefined where it has none. */
export function rawArguments(given: Readonly<Record<string, unknown>> | undefined): Uint8Array | undefined {
  const raw = given?.['raw'];
  return raw instanceof RawArguments ? raw.bytes : undefined;
}

function valueOf(node: JsonNode): unknown {
  switch (node.kind) {
    case 'object':
      return Object.fromEntries([...node.members].map(([name, member]) => [name, valueOf(member)]));
    case 'array':
      return node.items.map(valueOf);
    case 'null':
      return null;
    case 'number':
      return Number(node.text);
    case 'raw':
      // The library takes an object for arguments, and asks nothing of its members.
      return { raw: new RawArguments(node.bytes) };
    case 'string':
    case 'boolean':
      return node.value;
  }
}

/**
 * Parses the JSON of a body into values for the protocol's library.
 *
 * The arguments of a tool stay bytes, so that every digit of a number reaches the HTTP API (TC8). An object with a
 * repeated name is refused; inside the arguments, the tool or the HTTP API refuses it.
 */
import { type JsonFault, type JsonNode, parseJson } from '#model';
import { BATCH_BYTES_MAX, BODY_VALUES_MAX } from './limits.ts';

const RAW: ReadonlySet<string> = new Set(['arguments']);

class RawArguments {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  /** Omits it: the library serializes a message again to look at its other members. */
  toJSON(): undefined {
    return undefined;
  }
}

export type ReadMessage =
  | { readonly kind: 'read'; readonly value: unknown }
  | Pick<JsonFault, 'kind' | 'message' | 'isTooLarge'>;

export function readMessage(bytes: Uint8Array): ReadMessage {
  const node = parseJson(bytes, { raw: RAW, valuesMax: BODY_VALUES_MAX });
  if (node.kind === 'array' && node.items.length > 1 && bytes.length > BATCH_BYTES_MAX) {
    const message = `a batch of messages has at most ${BATCH_BYTES_MAX} bytes; send large ones alone`;
    return { kind: 'fault', isTooLarge: true, message };
  }
  return node.kind === 'fault' ? node : { kind: 'read', value: valueOf(node) };
}

/** Bytes of the arguments of a call; undefined when it has none. */
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
      // The library requires an object and does not check its members.
      return { raw: new RawArguments(node.bytes) };
    case 'string':
    case 'boolean':
      return node.value;
  }
}

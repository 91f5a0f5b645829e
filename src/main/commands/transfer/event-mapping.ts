/**
 * Makes events of records of other products, by a JSON object of attributes:
 * ```
 * {"id": "/eventId", "source": "/streamId", "type": "/eventType", "data": "/data", "dataschema": "urn:old"}
 * ```
 * A string that begins with a slash is a JSON pointer (RFC 6901) into the record. Anything else is a constant.
 */
import { encodeUtf8 } from '#base';
import { isPresent, type JsonNode, type JsonObject, writeJson } from '#model';

export interface EventMapping extends JsonObject {
  /** Attributes that no record had so far. */
  readonly missing: Set<string>;
}

/** Attributes that are strings: a number in a record becomes one. */
const STRINGS = /^(?:id|source|type|subject|time)$/;
const VERSION: JsonNode = { kind: 'string', value: '1.0' };

/** An attribute is absent if the record does not have it, or null. */
export function mapEvent(record: JsonNode, { members, missing }: EventMapping): JsonObject {
  const mapped = new Map<string, JsonNode>([['specversion', VERSION]]);
  for (const [name, rule] of members) {
    const value = rule.kind === 'string' && rule.value.startsWith('/') ? valueAt(record, rule.value) : rule;
    if (!isPresent(value)) continue;
    missing.delete(name);
    if (name === 'data') mapped.set(name, { kind: 'raw', bytes: encodeUtf8(writeJson(value)) });
    else if (STRINGS.test(name) && value.kind === 'number') mapped.set(name, { kind: 'string', value: value.text });
    else mapped.set(name, value);
  }
  return { kind: 'object', members: mapped };
}

function valueAt(record: JsonNode, pointer: string): JsonNode | undefined {
  let node: JsonNode | undefined = record;
  for (const token of pointer.split('/').slice(1)) {
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~');
    if (node?.kind === 'array') node = /^\d+$/.test(name) ? node.items[Number(name)] : undefined;
    else node = node?.kind === 'object' ? node.members.get(name) : undefined;
  }
  return node;
}

/** Writes parsed JSON compactly and without loss: an event of a reply comes out as the server wrote it. */
import { decodeUtf8 } from '#base';
import type { JsonNode } from './json.ts';

export function writeJson(node: JsonNode): string {
  switch (node.kind) {
    case 'object':
      return `{${Array.from(node.members, ([name, value]) => `${JSON.stringify(name)}:${writeJson(value)}`).join(',')}}`;
    case 'array':
      return `[${node.items.map(writeJson).join(',')}]`;
    case 'number':
      return node.text;
    case 'raw':
      return decodeUtf8(node.bytes, 0, node.bytes.length) ?? '';
    case 'null':
      return 'null';
    case 'string':
    case 'boolean':
      return JSON.stringify(node.value);
  }
}

/** Indents JSON over lines. Numbers and texts stay as they were written. */
import { decodeUtf8 } from '#base';
import { type JsonNode, type JsonRaw, parseJson } from '#model';

/** Longer payloads are not indented. */
export const LAID_OUT_BYTES_MAX: number = 16 * 1024;
const INDENT = '  ';
/** Deeper levels are written in one line, because the indentation of each element would multiply the size of a page. */
const LEVELS_LAID_OUT = 16;

export function rawText({ bytes }: JsonRaw): string {
  const text = decodeUtf8(bytes) ?? '';
  if (bytes.length > LAID_OUT_BYTES_MAX) return text;
  const node = parseJson(bytes);
  return node.kind === 'fault' ? text : laidOut(node);
}

export function laidOut(node: JsonNode, before = ''): string {
  const inside = before + INDENT;
  switch (node.kind) {
    case 'string':
      return JSON.stringify(node.value);
    case 'number':
      return node.text;
    case 'boolean':
      return String(node.value);
    case 'null':
      return 'null';
    case 'raw':
      return rawText(node);
    case 'array':
      return between(
        '[]',
        before,
        node.items.map((item) => laidOut(item, inside)),
      );
    case 'object':
      return between(
        '{}',
        before,
        [...node.members].map(([name, value]) => `${JSON.stringify(name)}: ${laidOut(value, inside)}`),
      );
  }
}

function between(brackets: '[]' | '{}', before: string, items: readonly string[]): string {
  if (items.length === 0) return brackets;
  const [start, end] = [brackets.charAt(0), brackets.charAt(1)];
  if (before.length >= LEVELS_LAID_OUT * INDENT.length) return `${start}${items.join(', ')}${end}`;
  const lines = items.map((item) => `${before}${INDENT}${item}`).join(',\n');
  return `${start}\n${lines}\n${before}${end}`;
}

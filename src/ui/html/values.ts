/** Draws values of JSON: numbers as they were written, payloads indented. */
import type { JsonNode } from '#model';
import { LAID_OUT_BYTES_MAX, laidOut, rawText } from '../laid-out.ts';
import type { InTurn } from '../reply-data.ts';
import { html, type Markup } from './markup.ts';

/** Characters shown of a folded value; a line has no room for more. */
const LINE_CHARACTERS_MAX = 200;

/** `page`: values are shown whole. `row`: objects, lists and payloads are folded. */
export type Room = 'page' | 'row';

/** Markup of long payloads, which are escaped in pieces before the page is drawn. */
export type LongPayloads = ReadonlyMap<JsonNode, Markup>;
export const NO_LONG_PAYLOADS: LongPayloads = new Map();

/** Escapes the payloads that are too long to be indented, a piece per turn of the event loop (TH11). */
export async function longPayloads(nodes: Iterable<JsonNode>, inTurn: InTurn): Promise<LongPayloads> {
  const found = new Map<JsonNode, Markup>();
  for (const node of nodes) {
    if (node.kind !== 'raw' || node.bytes.length <= LAID_OUT_BYTES_MAX) continue;
    const pieces: Markup[] = [];
    for (const piece of piecesOf(await inTurn(() => rawText(node)))) pieces.push(await inTurn(() => html`${piece}`));
    found.set(node, html`${pieces}`);
  }
  return found;
}

/** Cuts between characters, never between the surrogates of one. */
function* piecesOf(text: string): Iterable<string> {
  for (let start = 0, end = 0; start < text.length; start = end) {
    end = Math.min(start + PIECE_CHARACTERS, text.length);
    const last = text.charCodeAt(end - 1);
    if (last >= 0xd800 && last < 0xdc00 && end < text.length) end += 1;
    yield text.slice(start, end);
  }
}

const PIECE_CHARACTERS = 16 * 1024;

export function valueMarkup(node: JsonNode, room: Room, long: LongPayloads): Markup {
  switch (node.kind) {
    case 'string':
      return textMarkup(node.value);
    case 'number':
      return html`<span class="number">${node.text}</span>`;
    case 'boolean':
      return html`<span class="word">${String(node.value)}</span>`;
    case 'null':
      return html`<span class="absent">null</span>`;
    case 'raw':
    case 'object':
    case 'array':
      return structureMarkup(node, room, long.get(node));
  }
}

/** Times may break between date and hour. Identifiers and hashes are monospaced. */
function textMarkup(text: string): Markup {
  if (TIME.test(text)) {
    const [day, hour] = text.split('T');
    return html`<time datetime="${text}">${day}T<wbr>${hour}</time>`;
  }
  if (IDENTIFIER.test(text)) return html`<code>${text}</code>`;
  return html`<span class="${text.length <= ONE_LINE_CHARACTERS_MAX ? 'text short' : 'text'}">${text}</span>`;
}

/** Texts up to this length are not broken in a table. */
const ONE_LINE_CHARACTERS_MAX = 48;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;
const IDENTIFIER = /^(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{40,})$/;

function structureMarkup(node: JsonNode, room: Room, escaped: Markup | undefined): Markup {
  const text = node.kind === 'raw' ? rawText(node) : laidOut(node);
  const whole = escaped ?? text;
  if (room === 'page') return html`<pre class="json" tabindex="0">${whole}</pre>`;
  const line = text
    .slice(0, LINE_CHARACTERS_MAX)
    .toWellFormed()
    .replaceAll(/\s*\n\s*/g, ' ');
  return html`<details class="folded"><summary><code class="json">${line}</code></summary><pre class="json" tabindex="0">${whole}</pre></details>`;
}

// Goal: an HTML page shows JSON exactly, and its size is a small multiple of the data (TH12, TH13). Method: random
// payloads and texts, read back from the page.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { encodeUtf8 } from '#base';
import { type JsonNode, parseJson } from '#model';
import { html } from '../../../src/ui/html/markup.ts';
import { longPayloads, NO_LONG_PAYLOADS, valueMarkup } from '../../../src/ui/html/values.ts';
import { readHtmlPage } from '../../support/html-pages.ts';

function payloadOf(text: string): JsonNode {
  const node = parseJson(encodeUtf8(`{"data":${text}}`), { raw: new Set(['data']) });
  const data = node.kind === 'object' ? node.members.get('data') : undefined;
  if (data === undefined) throw new Error(`no JSON: ${text}`);
  return data;
}

function shown(payload: string): string {
  return valueMarkup(payloadOf(payload), 'page', NO_LONG_PAYLOADS).text;
}

function readBack(markup: string): string {
  return readHtmlPage(`<title>${markup.replace(/^<pre[^>]*>/, '').replace(/<\/pre>$/, '')} · Cairn</title>`).title;
}

it.each([1, 20, 100, 240])('a payload on a page takes at most 25 times its bytes, %s levels deep', (depth) => {
  const payload = `${'['.repeat(depth)}${Array.from({ length: 7000 }, () => 1).join(',')}${']'.repeat(depth)}`;
  expect(shown(payload).length).toBeLessThan(25 * payload.length);
});

it('a payload on a page shows the JSON that was written', () => {
  const json = fc.json({ maxDepth: 30 }).filter((text) => text.startsWith('{') || text.startsWith('['));
  fc.assert(
    fc.property(json, (payload) => {
      expect(JSON.parse(readBack(shown(payload)))).toEqual(JSON.parse(payload));
    }),
  );
});

it('a long payload on a page is escaped in pieces, which end between characters', async () => {
  const text = JSON.stringify(`${'<'.repeat(16_382)}😀${'&😀'.repeat(30_000)}`);
  const data = payloadOf(text);
  let turns = 0;
  const long = await longPayloads([data], async (work) => {
    turns += 1;
    return work();
  });
  expect(readBack(valueMarkup(data, 'page', long).text)).toBe(text);
  expect(turns).toBeGreaterThan(5);
});

it('a template escapes inserted texts', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const { text: page } = html`<p title="${text}">${text}</p>`;
      const parts = /^<p title="([^"<>']*)">([^"<>']*)<\/p>$/s.exec(page);
      const told = parts?.slice(1).map((part) => readBack(`<pre>${part}</pre>`));
      expect(told).toEqual([text.toWellFormed(), text.toWellFormed()]);
    }),
  );
});

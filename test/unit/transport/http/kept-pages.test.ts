// A page that is asked for again is sent as it was, and is never another one than would be made; what is kept is
// bounded, and a page that is asked for once displaces nothing (ADR 0145).
import { array, assert, asyncProperty, nat, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createMetrics } from '#observability';
import { KeptPages } from '../../../../src/transport/http/kept-pages.ts';
import { SMALL_ANSWER_BYTES } from '../../../../src/transport/http/limits.ts';
import { cloudEvent } from '../../../support/http-client.ts';
import { type HttpWorld, startHttpWorld } from '../../../support/http-world.ts';

const MIB = 1024 * 1024;
const NO_HEADERS = {};

function answerOf(body: string | Buffer): { status: number; headers: object; body: string | Buffer } & object {
  return { status: 200, headers: NO_HEADERS, body };
}

function keptPages(bytesMax: number): { readonly pages: KeptPages; readonly used: () => Promise<number> } {
  const metrics = createMetrics({ runtime: false });
  const used = async (): Promise<number> =>
    Number(/^cairn_http_page_cache_bytes (\d+)$/m.exec((await metrics.render()).body)?.[1]);
  return { pages: new KeptPages(bytesMax, metrics), used };
}

function offered(pages: KeptPages, target: string, body: string | Buffer, times = 2): KeptPages {
  for (let n = 0; n < times; n++) pages.offer(target, `tag of ${target}`, { ...answerOf(body), headers: NO_HEADERS });
  return pages;
}

const bodyOf = (pages: KeptPages, target: string): string | undefined => pages.find(target)?.answer.body.toString();

describe('what is kept', () => {
  it('is a copy of what was asked for twice, and nothing where there is no room', () => {
    const { pages } = keptPages(MIB);
    expect(bodyOf(offered(pages, 'a', 'once', 1), 'a')).toBeUndefined();
    const body = Buffer.from('twice, ü');
    offered(pages, 'a', body, 1);
    body.fill(0);
    expect(bodyOf(pages, 'a')).toBe('twice, ü');
    expect(bodyOf(offered(keptPages(0).pages, 'a', 'x', 3), 'a')).toBeUndefined();
  });

  it.each([
    ['a body that is long', 'a', 'x'.repeat(SMALL_ANSWER_BYTES + 1)],
    ['a body of few characters and many bytes', 'a', 'ü'.repeat(SMALL_ANSWER_BYTES / 2 + 1)],
    ['a target that is long', 'a'.repeat(1_001), 'x'],
  ])('is not %s', (_what, target, body) => {
    const { pages } = keptPages(MIB);
    expect(bodyOf(offered(pages, target, body, 3), target)).toBeUndefined();
  });

  it('outlasts a walk through pages that are asked for once', async () => {
    const { pages, used } = keptPages(MIB);
    offered(pages, 'often', 'x');
    const before = await used();
    for (let n = 0; n < 10_000; n++) offered(pages, `page ${n}`, 'y'.repeat(1_000), 1);
    expect([bodyOf(pages, 'often'), await used()]).toEqual(['x', before]);
  });

  it('makes way in the order in which it was sent last', () => {
    const { pages } = keptPages(3 * 12_100);
    for (const target of ['a', 'b', 'c']) offered(pages, target, 'x'.repeat(10_000));
    const first = pages.find('a');
    if (first !== undefined) pages.sent('a', first);
    offered(pages, 'd', 'x'.repeat(10_000));
    expect(['a', 'b', 'c', 'd'].filter((target) => pages.find(target) !== undefined)).toEqual(['a', 'c', 'd']);
  });

  it('is never more than there is room for, and is counted to the byte', async () => {
    const sizes = array(record({ target: nat(8), size: nat(20_000) }), { maxLength: 60 });
    await assert(
      asyncProperty(sizes, async (offers) => {
        const { pages, used } = keptPages(50_000);
        for (const { target, size } of offers) offered(pages, `${target}`, 'x'.repeat(size), 1);
        const kept = Array.from({ length: 9 }, (_, n) => pages.find(`${n}`)).filter((page) => page !== undefined);
        const bytes = kept.reduce((sum, { answer }) => sum + answer.body.length + 1 + 2_000, 0);
        expect(await used()).toBe(bytes);
        expect(bytes).toBeLessThanOrEqual(50_000);
      }),
      { numRuns: 50 },
    );
  });
});

async function worldOf(eventCount: number, gzipBytesMin?: number): Promise<HttpWorld> {
  const gzip = gzipBytesMin === undefined ? {} : { gzipBytesMin };
  const world = await startHttpWorld({ pageCacheBytes: MIB, holdsWaits: false, ...gzip });
  await world.client.create('shop');
  await world.client.commit('shop', ...Array.from({ length: eventCount }, (_, n) => cloudEvent(`e-${n}`)));
  return world;
}

async function hitsOf({ metrics }: HttpWorld): Promise<number> {
  return Number(/^cairn_http_page_cache_hits_total (\d+)$/m.exec((await metrics.render()).body)?.[1]);
}

const PAGE = '/db/shop/1/events';

describe('over HTTP', () => {
  it.each(['application/json', 'text/plain', 'text/html'])('a page of %s is the same each time', async (accept) => {
    await using world = await worldOf(40);
    const answers = [];
    for (let n = 0; n < 4; n++) {
      const { status, headers, text } = await world.client.get(PAGE, { accept });
      answers.push({ status, headers: [...headers].filter(([name]) => name !== 'date'), text });
    }
    expect(answers[0]?.text).toContain('e-39');
    for (const answer of answers.slice(1)) expect(answer).toEqual(answers[0]);
    expect(await hitsOf(world)).toBe(2);
  });

  it('who has it is told so, who wants its headers gets them, and each rendering is its own', async () => {
    await using world = await worldOf(3);
    for (let n = 0; n < 2; n++) await world.client.get(PAGE);
    const { headers, text } = await world.client.get(PAGE);
    const etag = headers.get('etag') ?? '';
    for (const tags of [etag, `"other", ${etag}`, '*']) {
      expect(await world.client.get(PAGE, { 'if-none-match': tags })).toMatchObject({ status: 304, text: '' });
    }
    const head = await world.client.send(PAGE, { method: 'HEAD' });
    expect([head.status, head.text, head.headers.get('content-length')]).toEqual([200, '', `${text.length}`]);
    expect((await world.client.get(PAGE, { accept: 'text/plain' })).text).not.toBe(text);
    expect((await world.client.get(`${PAGE}?limit=2`)).text).not.toBe(text);
  });
});

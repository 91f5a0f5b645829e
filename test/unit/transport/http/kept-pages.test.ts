// A page that is asked for again is sent as it was, and is never another one than would be made; what is kept is
// bounded, and a page that is asked for once displaces nothing (ADR 0145).
import { array, assert, asyncProperty, nat, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createMetrics } from '#observability';
import { KeptPages } from '../../../../src/transport/http/kept-pages.ts';
import { SMALL_ANSWER_BYTES } from '../../../../src/transport/http/limits.ts';

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

// Goal: transactions of an import are as large as they may be, or those of the export; lines are found in any chunks; a
// busy server is asked again. Method: the functions alone, with made up chunks, events and replies.
import { describe, expect, it } from 'vitest';
import { parseJson, writeJson } from '#model';
import { openApi } from '../../../../../src/main/commands/http-api.ts';
import { eventLinesOf, linesOf } from '../../../../../src/main/commands/transfer/event-lines.ts';
import { mapEvent } from '../../../../../src/main/commands/transfer/event-mapping.ts';
import { batchesOf, eventsOf } from '../../../../../src/main/commands/transfer/import-events.ts';

async function* chunked(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const EVENT = '"specversion":"1.0","source":"s","type":"t"';

/** Ids of the events of each batch. */
async function batched(...lines: readonly string[]): Promise<readonly (readonly string[])[]> {
  const batches: (readonly string[])[] = [];
  for await (const batch of batchesOf(eventsOf(chunked(lines.join('\n'), 65_536))))
    batches.push(batch.map(({ id }) => id));
  return batches;
}

const at = (id: string, revision: number, index: number): string =>
  `{"id":"${id}",${EVENT},"revision":${revision},"index":${index},"recordedtime":"2026-01-01T00:00:00Z"}`;

describe('a batch', () => {
  it('has the events of one exported transaction', async () => {
    const lines = [at('a', 1, 0), at('b', 1, 1), at('c', 2, 0), at('d', 2, 0), at('e', 4, 3), `{"id":"f",${EVENT}}`];
    expect(await batched(...lines)).toEqual([['a', 'b'], ['c'], ['d'], ['e'], ['f']]);
  });

  it('has 1,000 events at most', async () => {
    const all = await batched(...Array.from({ length: 2_001 }, (_, place) => `{"id":"${place}",${EVENT}}`));
    expect(all.map(({ length }) => length)).toEqual([1_000, 1_000, 1]);
  });

  it('has 1,000,000 bytes at most, as they are stored', async () => {
    const line = (id: string, bytes: number): string => `{"id":"${id}",${EVENT},"data":"${'x'.repeat(bytes)}"}`;
    let overhead = 0;
    for await (const { bytes } of eventsOf(chunked(line('a', 499_000), 65_536))) overhead = bytes.length - 499_000;
    const half = 500_000 - overhead;
    expect(await batched(line('a', half), line('b', half))).toEqual([['a', 'b']]);
    expect(await batched(line('a', half), line('b', half + 1))).toEqual([['a'], ['b']]);
  });
});

describe('a line', () => {
  it.each([1, 2, 3, 7, 100])('is found in chunks of %d bytes', async (size) => {
    const lines: (readonly [number, string])[] = [];
    for await (const [number, bytes] of linesOf(chunked('ä\n\nb\u2028c\r\nlast', size)))
      lines.push([number, bytes.toString()]);
    expect(lines).toEqual([
      [1, 'ä'],
      [2, ''],
      [3, 'b\u2028c\r'],
      [4, 'last'],
    ]);
  });
});

describe('a long line', () => {
  it('is refused, so that nothing of its middle is lost', async () => {
    const pad = 'x'.repeat(8 * 1024 * 1024);
    const records = `{"id":"a"}\n{"before":"${pad}","data":1,"after":"${pad}","id":"b"}`;
    const numbers: number[] = [];
    const reading = (async () => {
      for await (const [number] of linesOf(chunked(records, 65_536))) numbers.push(number);
    })();
    await expect(reading).rejects.toThrow('line 2 is longer than 8388608 bytes');
    expect(numbers).toEqual([1]);
  });
});

describe('an answer', () => {
  it('is refused when an event in it has no position', () => {
    const event = (more: string): string => `{"id":"a",${EVENT}${more}}`;
    const reply = (...events: readonly string[]): Buffer =>
      Buffer.from(`{"events":[${events.join()}],"has_more":false}`);
    const whole = event(',"revision":1,"index":0');
    expect(eventLinesOf(reply(whole))?.lines).toHaveLength(1);
    expect(eventLinesOf(reply(whole, event(',"revision":1')))).toBeUndefined();
  });
});

describe('a mapping', () => {
  it.each([
    ['{"id":"/a"}', '{"a":"x"}', '"id":"x"'],
    ['{"id":"/a/b/1"}', '{"a":{"b":[0,90071992547409930]}}', '"id":"90071992547409930"'],
    ['{"id":"/a~1b/~0"}', '{"a/b":{"~":"x"}}', '"id":"x"'],
    ['{"id":"a"}', '{"a":"x"}', '"id":"a"'],
    ['{"level":"/a"}', '{"a":3}', '"level":3'],
    ['{"old":true,"n":7}', '{}', '"old":true,"n":7'],
    ['{"data":"/a"}', '{"a":{"c":1.0,"b":[]}}', '"data":{"c":1.0,"b":[]}'],
    ['{"data":"/a","id":"/b","type":"/c/d"}', '{"a":null,"c":7}', ''],
    ['{"specversion":"/v"}', '{"v":"0.3"}', '0.3'],
  ])('%s makes of %s what it says', (mapping, record, members) => {
    const [rules, node] = [mapping, record].map((text) => parseJson(Buffer.from(text)));
    if (rules?.kind !== 'object' || node === undefined || node.kind === 'fault') throw new Error('no JSON');
    const expected = members === '0.3' ? '{"specversion":"0.3"}' : `{"specversion":"1.0"${members && `,${members}`}}`;
    expect(writeJson(mapEvent(node, { ...rules, missing: new Set() }))).toBe(expected);
  });
});

describe('a busy server', () => {
  it('is asked again when it said, as long as it says so', async () => {
    const replies = [
      Response.json({}, { status: 429, headers: { 'retry-after': '3' } }),
      Response.json({}, { status: 503, headers: { 'retry-after': '1' } }),
      Response.json({ error: { message: 'gone' } }, { status: 503 }),
    ];
    const slept: number[] = [];
    const fetch = (): Promise<Response> => Promise.resolve(replies.shift() ?? Response.error());
    const sleep = async (ms: number): Promise<void> => void slept.push(ms);
    const ask = openApi({ url: 'http://127.0.0.1:1' }, { fetch, sleep, read: () => '', trust: () => undefined });
    await expect(ask({ path: '/' })).rejects.toThrow('gone');
    expect(slept).toEqual([3_000, 1_000]);
  });
});

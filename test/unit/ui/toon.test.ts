// Goal: a page of TOON has the data of its JSON, falls back to JSON when TOON cannot express a value, and is rendered
// in pieces. Method: random and given data, decoded by a TOON decoder.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { JsonElements } from '../../../src/transport/http/json-elements.ts';
import { RawJson } from '../../../src/transport/http/json-text.ts';
import { bodyJson, listBody, objectBody, type ReplyBody } from '../../../src/transport/http/reply-body.ts';
import type { Description } from '../../../src/ui/description.ts';
import type { InTurn } from '../../../src/ui/reply-data.ts';
import { renderToon } from '../../../src/ui/toon/toon.ts';
import { readToonPage, undone } from '../../support/toon-pages.ts';

const NOTHING: Description = { title: 'Page', summary: 'A page.', links: { self: '/' }, actions: [] };

const atOnce: InTurn = (work) => Promise.resolve(work());

async function dataOf(body: ReplyBody): Promise<unknown> {
  return readToonPage(await renderToon(body, NOTHING, atOnce)).data;
}

function row(data: string | undefined, more: object = {}): string {
  const attributes = JSON.stringify({ id: 'a', specversion: '1.0', ...more });
  return data === undefined ? attributes : `${attributes.slice(0, -1)},"data":${data}}`;
}

async function rowsOf(...rows: readonly string[]): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const data = (await dataOf(listBody('events', JsonElements.of(rows)))) as { readonly events: never };
  return data.events;
}

const arbText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string(),
  fc.constantFrom(
    '__proto__',
    'constructor',
    'toJSON',
    '---',
    'Links:',
    'true',
    '05',
    '1e3',
    '-',
    '# x',
    '[2]: a,b',
    'a\n---\nLinks:',
    ' x ',
    '',
    'null',
    '\uFEFFx',
  ),
);
const arbPayload = fc.oneof(
  fc.jsonValue(),
  fc.record({ amount: fc.double({ noNaN: true, noDefaultInfinity: true }), currency: arbText }),
  fc.record({ at: fc.record({ lat: fc.integer(), lon: arbText }), ok: fc.boolean() }),
  fc.dictionary(arbText, arbText),
);
const arbRow = fc.record(
  { id: arbText, subject: arbText, revision: fc.maxSafeNat(), n: fc.integer(), data: arbPayload },
  { requiredKeys: ['id'] },
);

it('a page of TOON has the data of its JSON', async () => {
  const arbRows = fc.oneof(fc.array(arbRow, { maxLength: 40 }), sameShape());
  await fc.assert(
    fc.asyncProperty(arbRows, arbText, async (rows, text) => {
      const members = { first: { before: text }, last: { behind: { x: [text] } } };
      const body = listBody('events', JsonElements.of(rows.map((each) => JSON.stringify(each))), members);
      expect(undone(await dataOf(body))).toEqual(JSON.parse(String(bodyJson(body))));
    }),
  );
});

it.each([
  ['as columns where all are alike', ['{"a":1,"b":"x"}', '{"b":"y","a":null}'], 'data', { a: 1, b: 'x' }],
  ['as values', ['1', '"x"', 'false'], 'data', 1],
  ['as JSON where one has a list', ['{"a":1}', '{"a":[1]}'], 'data_json', '{"a":1}'],
  ['as JSON where names differ', ['{"a":1}', '{"b":1}'], 'data_json', '{"a":1}'],
  ['as JSON where one is null', ['null', '1'], 'data_json', 'null'],
  ['as JSON where one is empty', ['{}', '{}'], 'data_json', '{}'],
  ['as JSON where a name is repeated', ['{"a":1,"a":2}'], 'data_json', '{"a":1,"a":2}'],
  ['as JSON where a text is half a character', [String.raw`{"a":"\ud800"}`], 'data_json', String.raw`{"a":"\ud800"}`],
  ['with its white space', ['[ 1,\n2 ]'], 'data_json', '[ 1,\n2 ]'],
])('a page of TOON shows payloads %s', async (_, payloads, name, first) => {
  const rows = await rowsOf(...payloads.map((each) => row(each)));
  expect(rows).toHaveLength(payloads.length);
  expect(rows[0]).toEqual({ id: 'a', specversion: '1.0', [name]: first });
});

it.each([
  ['0', 'data', 0],
  ['19.90', 'data', 19.9],
  ['1E+2', 'data', 100],
  ['0.000001', 'data', 1e-6],
  ['1e-7', 'data', 1e-7],
  ['1e21', 'data', 1e21],
  ['9007199254740991', 'data', 9_007_199_254_740_991],
  ['9007199254740993', 'data_json', '9007199254740993'],
  ['0.1234567890123456789', 'data_json', '0.1234567890123456789'],
  ['1e400', 'data_json', '1e400'],
  ['1e-400', 'data_json', '1e-400'],
  ['-0', 'data_json', '-0'],
  ['"9007199254740993"', 'data', '9007199254740993'],
  ['"007"', 'data', '007'],
])('a page of TOON keeps the number %s exactly', async (number, name, shown) => {
  expect((await rowsOf(row(number)))[0]).toMatchObject({ [name]: shown });
  const nested = (await dataOf(objectBody({ data: new RawJson(`{"n":${number}}`) }))) as Readonly<
    Record<string, unknown>
  >;
  expect(nested[name]).toEqual(name === 'data' ? { n: shown } : `{"n":${number}}`);
});

function sameShape(): fc.Arbitrary<readonly object[]> {
  const arbScalar = fc.oneof(arbText, fc.integer(), fc.boolean(), fc.constant(null));
  const arbNames = fc.uniqueArray(arbText, { minLength: 1, maxLength: 4 });
  return arbNames.chain((names) => {
    const arbData = fc
      .shuffledSubarray(names, { minLength: names.length })
      .chain((order) =>
        fc
          .tuple(...order.map(() => fc.oneof(arbScalar, fc.record({ deep: arbScalar }))))
          .map((values) => Object.fromEntries(order.map((name, at) => [name, values[at]]))),
      );
    return fc.array(fc.record({ id: arbText, data: arbData }), { maxLength: 40 });
  });
}

it('a long page of TOON is rendered in many pieces', async () => {
  let pieceCount = 0;
  const sizes: number[] = [];
  const counted: InTurn = (work) => {
    pieceCount++;
    const made = work();
    if (Array.isArray(made)) sizes.push(made.length);
    return Promise.resolve(made);
  };
  const rows = Array.from({ length: 250 }, (_, at) => row(`{"at":${at}}`, { id: `e-${at}` }));
  const text = await renderToon(listBody('events', JsonElements.of(rows)), NOTHING, counted);
  expect(pieceCount).toBeGreaterThan(250);
  expect(Math.max(...sizes)).toBe(17);
  expect(text).toContain('events[250]{id,specversion,data{at}}:\n  e-0,"1.0",0\n');
});

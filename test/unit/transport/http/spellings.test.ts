// Goal: docs/http.md lists every spelling in bodies and queries, and spellings that it calls equal are parsed equally.
// Method: the rows of its table, and the names of the parsers.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  collectionQueryFromJson,
  Faults,
  type JsonNode,
  OPTION_NAMES,
  optionsFromJson,
  parseJson,
  selectorFromJson,
} from '#model';
import { CONSTRAINT_KIND_NAMES, constraintFromJson } from '../../../../src/model/constraint-json.ts';
import { RANGE_NAMES, scopedQueryFromJson } from '../../../../src/model/query-json.ts';
import { SELECTOR_NAMES } from '../../../../src/model/selector-json.ts';

const page = readFileSync(resolve(import.meta.dirname, '../../../../docs/http.md'), 'utf8');
const [, section = ''] = page.split('\n## Other spellings\n');
const [table = ''] = section.split('\n## ');
const rows = [...table.matchAll(/^\| (.+?) \| `(\{.+?\})` \| (.*) \|$/gm)].map(
  ([, where = '', canonical = '', others = '']) => ({
    where,
    canonical,
    others: [...others.matchAll(/`(\{.+?\})`/g)].map(([, text = '']) => text),
  }),
);
const spellings = rows.flatMap(({ where, canonical, others }) =>
  others.map((other) => [where, canonical, other] as const),
);

const READERS: Readonly<Record<string, (node: JsonNode, faults: Faults) => unknown>> = {
  'a condition': (node, faults) => constraintFromJson(node, 'condition', faults),
  'a selector': (node, faults) => selectorFromJson(node, 'selector', faults),
  '`q`': (node, faults) => scopedQueryFromJson(node, 'q', faults),
  'the body of a query': (node, faults) => collectionQueryFromJson(node, faults),
  'a transaction': (node, faults) =>
    node.kind === 'object' ? optionsFromJson(node, { field: '', faults }) : undefined,
};

function meaningOf(where: string, text: string): unknown {
  const node = parseJson(Buffer.from(text));
  if (node.kind === 'fault') throw new Error(`${text} is no JSON: ${node.message}`);
  const faults = new Faults();
  const meaning = READERS[where]?.(node, faults);
  faults.throwIfAny(text);
  return meaning;
}

describe('the table of spellings', () => {
  it('has rows of every part', () => {
    expect(new Set(rows.map(({ where }) => where))).toEqual(new Set(['a new database', ...Object.keys(READERS)]));
    expect(rows.filter(({ others }) => others.length === 0)).toEqual([]);
  });

  it.each(spellings.filter(([where]) => where !== 'a new database' && where in READERS))(
    'in %s %s equals %s',
    (where, canonical, other) => {
      const meaning = meaningOf(where, canonical);
      expect(meaning).toBeDefined();
      expect(meaningOf(where, other)).toEqual(meaning);
    },
  );

  it('has every name that the parsers accept', () => {
    const plain = (name: string): string => name.toLowerCase().replaceAll('_', '');
    const named = new Set([...table.matchAll(/"(\w+)"/g)].map(([, name = '']) => name));
    expect([...OPTION_NAMES, ...RANGE_NAMES].filter((name) => !named.has(name))).toEqual([]);
    const kinds = new Set([...named].map(plain));
    expect([...CONSTRAINT_KIND_NAMES, ...SELECTOR_NAMES].filter((name) => !kinds.has(name))).toEqual([]);
  });
});

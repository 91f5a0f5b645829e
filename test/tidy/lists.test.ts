// Goal: a list in the docs and its twin in the code cannot differ unseen. Method: pages and code of a few lines.
import { describe, expect, it } from 'vitest';
import { errorCodesAreTested, errorPageIsComplete, metricPageIsComplete, metricsAreFed } from './lists.ts';
import { treeOf } from './tree.ts';

describe('errorPageIsComplete', () => {
  const page = (...codes: string[]): string => codes.map((code) => `| \`${code}\` | 400 |\n`).join('');

  it('passes a page with exactly the codes', () => {
    expect(errorPageIsComplete(treeOf({ 'docs/errors.md': page('busy', 'internal') }), ['internal', 'busy'])).toEqual(
      [],
    );
  });

  it('finds a missing, an invented and a repeated row', () => {
    const tree = treeOf({ 'docs/errors.md': page('busy', 'lost', 'busy') });
    expect(errorPageIsComplete(tree, ['busy', 'internal'])).toEqual([
      'docs/errors.md: internal is missing',
      'docs/errors.md: lost is not in the code',
      'docs/errors.md: busy is listed twice',
    ]);
  });

  it('finds a missing page', () => {
    expect(errorPageIsComplete(treeOf({}), [])).toHaveLength(1);
  });
});

describe('errorCodesAreTested', () => {
  it('finds the code that no test names', () => {
    const tree = treeOf({ 'test/a.test.ts': "expect(code).toBe('busy')" });
    expect(errorCodesAreTested(tree, ['busy', 'internal'])).toEqual(['internal: no test names it']);
  });
});

describe('metricPageIsComplete', () => {
  const tree = treeOf({ 'docs/metrics.md': '| metric | labels |\n|---|---|\n| `cairn_a_total` | kind |\n' });

  it('passes a page with exactly the metrics', () => {
    expect(metricPageIsComplete(tree, ['cairn_a_total'])).toEqual([]);
  });

  it('finds a metric without a row, a row without a metric, and a missing page', () => {
    expect(metricPageIsComplete(tree, ['grpc_b_total'])).toHaveLength(2);
    expect(metricPageIsComplete(treeOf({}), [])).toHaveLength(1);
  });
});

describe('metricsAreFed', () => {
  it('finds a metric that only the catalogue names', () => {
    const tree = treeOf({
      'src/observability/a.ts': "'cairn_a_total' 'cairn_b_total'",
      'src/cluster/a.ts': "metrics.count('cairn_a_total')",
      'src/main/main.ts': '/** Main. */',
    });
    expect(metricsAreFed(tree, ['cairn_a_total', 'cairn_b_total'])).toEqual(['cairn_b_total: nothing feeds it']);
  });
});

// Goal: the charts render the expected objects for each file in their folders ci, and nothing that a cluster or a
// program rejects. Method: helm renders each file; the objects are compared with a golden file and checked by
// checks.ts. The golden file of `default` has all objects; the others have the differences from it.
//
// UPDATE=1 writes the golden files.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lacksTool } from '../support/needed-tools.ts';
import { CHECKS, type Render } from './checks.ts';
import { CHARTS, type Chart, cases, folderOf, lint, renderedOf, valuesOf } from './helm.ts';
import { idOf, type KubeObject, linesOf, ofKind, parseObjects } from './objects.ts';

const GOLDEN = join(import.meta.dirname, 'golden');
/** Matches a generated secret. */
const RANDOM = /"[A-Za-z0-9+/]{86}=="/g;

const CASES = CHARTS.flatMap((chart) => cases(chart).map((name) => [chart, name] as const));

function render(chart: Chart, name: string): Render {
  const path = valuesOf(name, chart);
  const text = renderedOf(chart, '--values', path);
  return { text, objects: parseObjects(text), values: readFileSync(path, 'utf8') };
}

/** Returns one line per value. NAME replaces the name of the StatefulSet or Deployment, which is a prefix of others. */
function flat({ objects }: Render): readonly string[] {
  const name = ofKind(objects, 'StatefulSet', 'Deployment')[0]?.metadata.name ?? '';
  const lines = objects.filter(isOfTemplates).flatMap((object) => linesOf(compact(object), idOf(object)));
  const normal = lines.map((line) => line.replaceAll(RANDOM, '"RANDOM"').replaceAll(name, 'NAME'));
  return [`NAME = ${name}`, ...normal].toSorted();
}

/** Replaces the rules of a role by one line each. */
function compact({ rules, ...object }: KubeObject): object {
  const texts = rules?.map(
    ({ apiGroups, resources, verbs }) => `${apiGroups.join()}/${resources.join()}: ${verbs.join()}`,
  );
  return texts === undefined ? object : { ...object, rules: texts };
}

/** Excludes alerts and dashboards: they equal their files (values.test.ts), which test/observability tests. */
function isOfTemplates({ kind, metadata }: KubeObject): boolean {
  return kind !== 'PrometheusRule' && metadata.labels?.['app.kubernetes.io/component'] !== 'dashboard';
}

/** Returns the lines that only one of both has. */
function difference(from: readonly string[], to: readonly string[]): string {
  const [before, after] = [new Set(from), new Set(to)];
  const gone = from.filter((line) => !after.has(line)).map((line) => ({ line, sign: '-' }));
  const come = to.filter((line) => !before.has(line)).map((line) => ({ line, sign: '+' }));
  const lines = [...gone, ...come].toSorted((one, other) => (one.line < other.line ? -1 : 1));
  return lines.map(({ line, sign }) => `${sign} ${line}\n`).join('');
}

describe.skipIf(lacksTool('kube'))('the chart', () => {
  it.each(CASES)('%s renders its golden file with the values of %s', (chart, name) => {
    const lines = flat(render(chart, name));
    const golden = join(GOLDEN, chart, `${name}.txt`);
    const found = name === 'default' ? `${lines.join('\n')}\n` : difference(flat(render(chart, 'default')), lines);
    if (process.env['UPDATE'] === '1') writeFileSync(golden, found);
    expect(found).toBe(readFileSync(golden, 'utf8'));
  });

  it.each(CASES)('%s renders nothing that a cluster or a program rejects, with the values of %s', (chart, name) => {
    const found = render(chart, name);
    const faults = Object.entries(CHECKS).flatMap(([check, faultsOf]) =>
      faultsOf(found).map((fault) => `${check}: ${fault}`),
    );
    expect(faults).toEqual([]);
  });

  it.each(CASES)('%s is well-formed with the values of %s', (chart, name) => {
    expect(lint(folderOf(chart), '--values', valuesOf(name, chart))).toEqual({ remarks: null, status: 0 });
  });

  it.each(CHARTS)('%s has the release number of the product', (name) => {
    const manifest: { readonly version: string } = JSON.parse(
      readFileSync(join(folderOf(name), '../../package.json'), 'utf8'),
    );
    const chart = readFileSync(join(folderOf(name), 'Chart.yaml'), 'utf8');
    expect(chart).toContain(`\nversion: ${manifest.version}\nappVersion: ${manifest.version}\n`);
  });
});

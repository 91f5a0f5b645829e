// Goal: the charts render what they are meant to for every file of their folders ci, and nothing that a cluster or a
// program would refuse. Method: helm renders each; the objects are held against a golden file and against the checks of
// checks.ts. The golden file of `default` has all objects; the others have the values that differ from it.
//
// UPDATE=1 writes the golden files again.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lacksTool } from '../support/needed-tools.ts';
import { CHECKS, type Render } from './checks.ts';
import { CHARTS, type Chart, cases, folderOf, helm, renderedOf, valuesOf } from './helm.ts';
import { idOf, type KubeObject, linesOf, ofKind, parseObjects } from './objects.ts';

const GOLDEN = join(import.meta.dirname, 'golden');
/** A generated secret. */
const RANDOM = /"[A-Za-z0-9+/]{86}=="/g;

const CASES = CHARTS.flatMap((chart) => cases(chart).map((name) => [chart, name] as const));

function render(chart: Chart, name: string): Render {
  const path = valuesOf(name, chart);
  const text = renderedOf(chart, '--values', path);
  return { text, objects: parseObjects(text), values: readFileSync(path, 'utf8') };
}

/** Every value in a line of its own. NAME is the name of the StatefulSet or Deployment, with which others begin. */
function flat({ objects }: Render): readonly string[] {
  const name = ofKind(objects, 'StatefulSet', 'Deployment')[0]?.metadata.name ?? '';
  const lines = objects.filter(isOfTemplates).flatMap((object) => linesOf(compact(object), idOf(object)));
  const normal = lines.map((line) => line.replaceAll(RANDOM, '"RANDOM"').replaceAll(name, 'NAME'));
  return [`NAME = ${name}`, ...normal].toSorted();
}

/** Each rule of a role in a line. */
function compact({ rules, ...object }: KubeObject): object {
  const texts = rules?.map(
    ({ apiGroups, resources, verbs }) => `${apiGroups.join()}/${resources.join()}: ${verbs.join()}`,
  );
  return texts === undefined ? object : { ...object, rules: texts };
}

/** Alerts and dashboards are as in their files (values.test.ts), which have tests of their own (test/observability). */
function isOfTemplates({ kind, metadata }: KubeObject): boolean {
  return kind !== 'PrometheusRule' && metadata.labels?.['app.kubernetes.io/component'] !== 'dashboard';
}

/** Lines that one has and the other has not. */
function difference(from: readonly string[], to: readonly string[]): string {
  const [before, after] = [new Set(from), new Set(to)];
  const gone = from.filter((line) => !after.has(line)).map((line) => ({ line, sign: '-' }));
  const come = to.filter((line) => !before.has(line)).map((line) => ({ line, sign: '+' }));
  const lines = [...gone, ...come].toSorted((one, other) => (one.line < other.line ? -1 : 1));
  return lines.map(({ line, sign }) => `${sign} ${line}\n`).join('');
}

describe.skipIf(lacksTool('kube'))('the chart', () => {
  it.each(CASES)('%s renders what its golden file says, of %s', (chart, name) => {
    const lines = flat(render(chart, name));
    const golden = join(GOLDEN, chart, `${name}.txt`);
    const found = name === 'default' ? `${lines.join('\n')}\n` : difference(flat(render(chart, 'default')), lines);
    if (process.env['UPDATE'] === '1') writeFileSync(golden, found);
    expect(found).toBe(readFileSync(golden, 'utf8'));
  });

  it.each(CASES)('%s renders nothing that a cluster or a program refuses, of %s', (chart, name) => {
    const found = render(chart, name);
    const faults = Object.entries(CHECKS).flatMap(([check, faultsOf]) =>
      faultsOf(found).map((fault) => `${check}: ${fault}`),
    );
    expect(faults).toEqual([]);
  });

  it.each(CASES)('%s is well-formed with the values of %s', (chart, name) => {
    const { output, status } = helm('lint', '--strict', '--quiet', folderOf(chart), '--values', valuesOf(name, chart));
    expect({ output, status }).toEqual({ output: '', status: 0 });
  });

  it.each(CHARTS)('%s has as its release that of the product', (name) => {
    const manifest: { readonly version: string } = JSON.parse(
      readFileSync(join(folderOf(name), '../../package.json'), 'utf8'),
    );
    const chart = readFileSync(join(folderOf(name), 'Chart.yaml'), 'utf8');
    expect(chart).toContain(`\nversion: ${manifest.version}\nappVersion: ${manifest.version}\n`);
  });
});

// Goal: the chart cairn-crds installs and upgrades the definition of every kind. Method: helm renders it;
// test/operator/api tests that the API server accepts the definitions.
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { KINDS } from '../../operator/src/api/index.ts';
import { definitionOf } from '../../scripts/crds/open-api.ts';
import { lacksTool } from '../support/needed-tools.ts';
import { helm, lint, withValues } from './helm.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const CHART = join(ROOT, 'charts/cairn-crds');

interface Definition {
  readonly metadata: {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: object;
}

function definitions(crds: object = {}): readonly Definition[] {
  const { output, errors } = helm('template', 'crds', CHART, ...withValues({ crds }));
  expect(errors).toBe('');
  // The API server reads YAML 1.1.
  return parseAllDocuments(output, { version: '1.1' }).map((document) => {
    const definition: Definition = document.toJS();
    return definition;
  });
}

describe.skipIf(lacksTool('kube'))('the chart cairn-crds', () => {
  it('has the definition of each kind as it is declared', () => {
    const found = definitions().map(({ metadata: { name }, spec }) => ({ name, spec }));
    const declared = KINDS.map(definitionOf);
    const byName = (one: { readonly name: string }, other: { readonly name: string }): number =>
      one.name < other.name ? -1 : 1;
    expect(found.toSorted(byName)).toEqual(
      declared.map(({ metadata: { name }, spec }) => ({ name, spec })).toSorted(byName),
    );
  });

  it('keeps the definitions when the release is removed, unless the values say otherwise', () => {
    const policies = (crds?: object): ReadonlySet<unknown> =>
      new Set(definitions(crds).map(({ metadata }) => metadata.annotations?.['helm.sh/resource-policy']));
    expect(policies()).toEqual(new Set(['keep']));
    expect(policies({ keep: false })).toEqual(new Set([undefined]));
  });

  it('adds labels that select the definitions, and the labels of the values', () => {
    const found = definitions({ labels: { team: 'data' }, annotations: { note: 'x' } });
    for (const { metadata } of found) {
      expect(metadata.labels).toMatchObject({ 'app.kubernetes.io/name': 'cairn-crds', team: 'data' });
      expect(metadata.annotations).toEqual({ 'helm.sh/resource-policy': 'keep', note: 'x' });
    }
    expect(found).toHaveLength(KINDS.length);
  });

  it('renders nothing when the definitions are off', () => {
    expect(helm('template', 'crds', CHART, ...withValues({ crds: { enabled: false } })).output.trim()).toBe('');
  });

  it('is well-formed, and refuses unknown values', () => {
    expect(lint(CHART)).toEqual({ remarks: null, status: 0 });
    const { errors, status } = helm('template', 'crds', CHART, ...withValues({ crds: { kept: true } }));
    expect(errors).toContain("additional properties 'kept' not allowed");
    expect(status).not.toBe(0);
  });

  it('has the release number of the product, and requires the same Kubernetes as the chart cairn', () => {
    const manifest: { readonly version: string } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const chart = readFileSync(join(CHART, 'Chart.yaml'), 'utf8');
    expect(chart).toContain(`\nversion: ${manifest.version}\nappVersion: ${manifest.version}\n`);
    const [kubeVersion = ''] = /^kubeVersion: .*$/m.exec(chart) ?? [];
    expect(readFileSync(join(ROOT, 'charts/cairn/Chart.yaml'), 'utf8')).toContain(kubeVersion);
  });
});

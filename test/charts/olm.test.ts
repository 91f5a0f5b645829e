// Goal: the bundle for OLM runs the operator as the chart does, with the same permissions, and meets the requirements
// of a catalog. Method: helm renders the chart, the bundle is compared with golden files, and the checks are those of
// `operator-sdk bundle validate` that apply to these files.
//
// UPDATE=1 writes the golden files.
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { KINDS } from '../../operator/src/api/index.ts';
import { RIGHTS } from '../../operator/src/rights.ts';
import { type BundleFile, bundleFiles } from '../../scripts/olm/bundle.ts';
import { lacksTool } from '../support/needed-tools.ts';
import { folderOf, renderedOf, withValues } from './helm.ts';
import { ofKind, type PodSpec, parseObjects } from './objects.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const GOLDEN = join(import.meta.dirname, 'golden/olm');
const PAGE = readFileSync(join(ROOT, 'docs/operations/operator.md'), 'utf8');
const IMAGE = { registry: 'registry.example.com', repository: 'team/cairn', digest: `sha256:${'a'.repeat(64)}` };

interface Permissions {
  readonly serviceAccountName: string;
  readonly rules: readonly { readonly resources: readonly string[] }[];
}

interface ServiceVersion {
  readonly metadata: { readonly name: string; readonly annotations: Readonly<Record<string, string>> };
  readonly spec: {
    readonly version: string;
    readonly minKubeVersion: string;
    readonly provider: { readonly name: string };
    readonly installModes: readonly { readonly type: string; readonly supported: boolean }[];
    readonly relatedImages: readonly { readonly image: string }[];
    readonly customresourcedefinitions: { readonly owned: readonly Owned[] };
    readonly install: {
      readonly spec: {
        readonly deployments: readonly { readonly spec: { readonly template: { readonly spec: PodSpec } } }[];
        readonly permissions: readonly Permissions[];
        readonly clusterPermissions: readonly Permissions[];
      };
    };
  };
}

interface Owned {
  readonly name: string;
  readonly version: string;
  readonly kind: string;
}

interface Definition {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly names: { readonly kind: string }; readonly versions: readonly { readonly name: string }[] };
}

function rendered(): string {
  return renderedOf('cairn-operator', ...withValues({ image: IMAGE }));
}

function bundle(page: string = PAGE): readonly BundleFile[] {
  const chart = readFileSync(join(folderOf('cairn-operator'), 'Chart.yaml'), 'utf8');
  return bundleFiles({ rendered: rendered(), chart, page });
}

function serviceVersion(): ServiceVersion {
  const parsed: ServiceVersion = parse(bundle()[0]?.content ?? '');
  return parsed;
}

describe.skipIf(lacksTool('kube'))('the bundle for OLM', () => {
  it('equals its golden files', () => {
    const files = bundle().filter(({ path }) => !path.endsWith('.crd.yaml'));
    for (const { path, content } of files) {
      const golden = join(GOLDEN, basename(path));
      if (process.env['UPDATE'] === '1') writeFileSync(golden, content);
      expect(content).toBe(readFileSync(golden, 'utf8'));
    }
    expect(files).toHaveLength(3);
  });

  it('runs the same pod as the chart, which watches the namespaces of its OperatorGroup', () => {
    const [deployment] = serviceVersion().spec.install.spec.deployments;
    const found = deployment?.spec.template.spec;
    const ofChart = ofKind(parseObjects(rendered()), 'Deployment')[0]?.spec?.template?.spec;
    const [container] = found?.containers ?? [];
    const [charted] = ofChart?.containers ?? [];
    expect(container?.args).toEqual([...(charted?.args ?? []), '--watch-namespace=$(WATCH_NAMESPACE)']);
    const { env, args: _args, ...rest } = container ?? {};
    const { env: ownEnv = [], args: _own, ...own } = charted ?? {};
    expect(rest).toEqual(own);
    expect(env).toEqual([...ownEnv, expect.objectContaining({ name: 'WATCH_NAMESPACE' })]);
    expect({ ...found, containers: [] }).toEqual({ ...ofChart, containers: [] });
  });

  it('grants every permission of the operator to the service account of its pods', () => {
    const { deployments, permissions, clusterPermissions } = serviceVersion().spec.install.spec;
    const resources = [...permissions, ...clusterPermissions].flatMap(({ rules }) =>
      rules.flatMap((rule) => rule.resources),
    );
    expect(resources).toEqual([...RIGHTS.watched, ...RIGHTS.own, ...RIGHTS.cluster].map(({ resource }) => resource));
    const accounts = [...permissions, ...clusterPermissions].map(({ serviceAccountName }) => serviceAccountName);
    expect(new Set(accounts)).toEqual(new Set([deployments[0]?.spec.template.spec.serviceAccountName]));
  });

  it('owns each kind that it defines, with an example of each', () => {
    const definitions = bundle().flatMap(({ path, content }) => {
      if (!path.endsWith('.crd.yaml')) return [];
      const { metadata, spec }: Definition = parse(content, { version: '1.1' });
      return spec.versions.map(({ name: version }) => ({ name: metadata.name, version, kind: spec.names.kind }));
    });
    const { metadata, spec } = serviceVersion();
    const owned = spec.customresourcedefinitions.owned.map(({ name, version, kind }) => ({ name, version, kind }));
    expect(owned).toEqual(definitions);
    const examples: readonly { readonly kind: string }[] = JSON.parse(metadata.annotations['alm-examples'] ?? '');
    expect(examples.map(({ kind }) => kind)).toEqual(KINDS.map(({ kind }) => kind));
  });

  it('has the names, versions, images and install modes that a catalog requires', () => {
    const { metadata, spec } = serviceVersion();
    expect(metadata.name).toBe(`cairn-operator.v${spec.version}`);
    expect(spec.version).toMatch(/^\d+\.\d+\.\d+$/);
    expect(spec.minKubeVersion).toMatch(/^\d+\.\d+\.\d+$/);
    expect(spec.provider.name).not.toBe('');
    const modes = Object.fromEntries(spec.installModes.map(({ type, supported }) => [type, supported]));
    expect(modes).toEqual({ OwnNamespace: true, SingleNamespace: true, MultiNamespace: false, AllNamespaces: true });
    const image = `${IMAGE.registry}/${IMAGE.repository}@${IMAGE.digest}`;
    expect(spec.relatedImages.map((related) => related.image)).toEqual([image]);
    expect(metadata.annotations['containerImage']).toBe(image);
    const levels = ['Basic Install', 'Seamless Upgrades', 'Full Lifecycle', 'Deep Insights', 'Auto Pilot'];
    expect(levels).toContain(metadata.annotations['capabilities']);
    const [deployment] = spec.install.spec.deployments;
    for (const { resources } of deployment?.spec.template.spec.containers ?? []) {
      expect(Object.keys(resources?.requests ?? {})).toEqual(['cpu', 'memory']);
    }
  });

  it('is not written when a kind has no example', () => {
    expect(() => bundle(PAGE.replace('kind: Presenter', 'kind: Other'))).toThrow('no example of Presenter');
  });
});

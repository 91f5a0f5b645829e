/**
 * The bundle of the operator for the Operator Lifecycle Manager (OLM): a ClusterServiceVersion, the definition of each
 * kind, and the metadata of a catalog. All of it follows from the chart, the declared kinds and the table of rights.
 */
import { parse, parseAllDocuments, stringify } from 'yaml';
import { GROUP, KINDS, VERSION } from '../../operator/src/api/index.ts';
import type { ResourceKind } from '../../operator/src/api/schema.ts';
import { RIGHTS, type Right } from '../../operator/src/rights.ts';
import { definitionOf, nameOf } from '../crds/open-api.ts';

export interface BundleSources {
  /** The objects of charts/cairn-operator, as Helm renders them. */
  readonly rendered: string;
  /** The file Chart.yaml of the chart. */
  readonly chart: string;
  /** A page of the docs with an example of each kind. */
  readonly page: string;
}

export interface BundleFile {
  readonly path: string;
  readonly content: string;
}

interface Chart {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly keywords: readonly string[];
  readonly kubeVersion: string;
}

interface Container {
  readonly image: string;
  readonly args: readonly string[];
  readonly env: readonly object[];
}

interface Deployment {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly template: {
      readonly metadata: { readonly labels: object };
      readonly spec: { readonly serviceAccountName: string; readonly containers: readonly [Container] };
    };
  };
}

/** The highest level whose questions are all answered with yes: docs/operations/operator-capabilities.md. */
const CAPABILITIES = 'Seamless Upgrades';
const CHANNEL = 'candidate';
const PREFIX = 'operators.operatorframework.io.bundle';
const INSTALL_MODES = { OwnNamespace: true, SingleNamespace: true, MultiNamespace: false, AllNamespaces: true };
/** OLM writes the namespaces of an OperatorGroup into an annotation of the pods. It is empty for all namespaces. */
const WATCHED = { fieldRef: { fieldPath: "metadata.annotations['olm.targetNamespaces']" } };

export function bundleFiles(sources: BundleSources): readonly BundleFile[] {
  const chart: Chart = parse(sources.chart);
  const metadata = metadataOf(chart);
  const labels = Object.entries(metadata).map(([key, value]) => `LABEL ${key}=${value}\n`);
  return [
    { path: `manifests/${chart.name}.clusterserviceversion.yaml`, content: yaml(serviceVersion(chart, sources)) },
    ...KINDS.map((kind) => ({ path: `manifests/${nameOf(kind)}.crd.yaml`, content: yaml(definitionOf(kind)) })),
    { path: 'metadata/annotations.yaml', content: yaml({ annotations: metadata }) },
    {
      path: 'bundle.Dockerfile',
      content: `FROM scratch\n${labels.join('')}COPY manifests /manifests/\nCOPY metadata /metadata/\n`,
    },
  ];
}

function metadataOf({ name }: Chart): Readonly<Record<string, string>> {
  return {
    [`${PREFIX}.mediatype.v1`]: 'registry+v1',
    [`${PREFIX}.manifests.v1`]: 'manifests/',
    [`${PREFIX}.metadata.v1`]: 'metadata/',
    [`${PREFIX}.package.v1`]: name,
    [`${PREFIX}.channels.v1`]: CHANNEL,
    [`${PREFIX}.channel.default.v1`]: CHANNEL,
  };
}

function serviceVersion(chart: Chart, { rendered, page }: BundleSources): object {
  const { name, version, description, keywords, kubeVersion } = chart;
  const { metadata, spec } = deploymentIn(rendered);
  const { serviceAccountName, containers } = spec.template.spec;
  const [{ image }] = containers;
  return {
    apiVersion: 'operators.coreos.com/v1alpha1',
    kind: 'ClusterServiceVersion',
    metadata: {
      name: `${name}.v${version}`,
      namespace: 'placeholder',
      annotations: {
        'alm-examples': JSON.stringify(examplesIn(page), undefined, 2),
        capabilities: CAPABILITIES,
        categories: 'Database',
        containerImage: image,
        description,
        'operatorframework.io/suggested-namespace': 'cairn-system',
      },
    },
    spec: {
      displayName: 'Cairn',
      description,
      version,
      maturity: 'alpha',
      minKubeVersion: kubeVersion.replaceAll(/^>=|-0$/g, ''),
      keywords,
      provider: { name: 'Cairn' },
      installModes: Object.entries(INSTALL_MODES).map(([type, supported]) => ({ type, supported })),
      customresourcedefinitions: { owned: KINDS.map(ownedKind) },
      relatedImages: [{ name: 'cairn', image }],
      install: {
        strategy: 'deployment',
        spec: {
          deployments: [{ name: metadata.name, spec: underOlm(spec) }],
          // Roles of the watched namespaces, or of the whole cluster when all namespaces are watched.
          permissions: [{ serviceAccountName, rules: [...RIGHTS.watched, ...RIGHTS.own].map(ruleOf) }],
          clusterPermissions: [{ serviceAccountName, rules: RIGHTS.cluster.map(ruleOf) }],
        },
      },
    },
  };
}

function ownedKind(kind: ResourceKind): object {
  const displayName = kind.kind.replaceAll(/\B[A-Z]/g, ' $&');
  return { name: nameOf(kind), version: VERSION, kind: kind.kind, displayName, description: kind.doc };
}

function ruleOf({ apiGroup, resource, verbs }: Right): object {
  return { apiGroups: [apiGroup], resources: [resource], verbs };
}

/** The chart makes one Deployment. @throws Error when it does not. */
function deploymentIn(rendered: string): Deployment {
  const found = parseAllDocuments(rendered).flatMap((document) => {
    const object: { readonly kind: string } | null = document.toJS();
    return object !== null && isDeployment(object) ? [object] : [];
  });
  const [deployment, ...others] = found;
  if (deployment === undefined || others.length > 0) throw new Error(`the chart has ${found.length} Deployments`);
  return deployment;
}

function isDeployment(object: { readonly kind: string }): object is Deployment & { readonly kind: string } {
  return object.kind === 'Deployment';
}

/** The Deployment as OLM runs it: an OperatorGroup says which namespaces are watched. */
function underOlm({ template, ...spec }: Deployment['spec']): object {
  const [container] = template.spec.containers;
  const watching = {
    ...container,
    args: [...container.args, '--watch-namespace=$(WATCH_NAMESPACE)'],
    env: [...container.env, { name: 'WATCH_NAMESPACE', valueFrom: WATCHED }],
  };
  const labels = { ...template.metadata.labels, 'app.kubernetes.io/managed-by': 'olm' };
  const metadata = { ...template.metadata, labels };
  return { ...spec, template: { ...template, metadata, spec: { ...template.spec, containers: [watching] } } };
}

/** The first example of each kind in the YAML of a page. @throws Error when a kind has none. */
function examplesIn(page: string): readonly object[] {
  const blocks = [...page.matchAll(/^```yaml\n([^]*?)^```$/gm)].flatMap(([, text = '']) => parseAllDocuments(text));
  const objects = blocks.map((document) => {
    const object: { readonly apiVersion?: string; readonly kind?: string } = document.toJS();
    return object;
  });
  return KINDS.map(({ kind }) => {
    const found = objects.find((object) => object.kind === kind && object.apiVersion === `${GROUP}/${VERSION}`);
    if (found === undefined) throw new Error(`the page has no example of ${kind}`);
    return found;
  });
}

function yaml(object: object): string {
  return stringify(object, { version: '1.1', lineWidth: 0, aliasDuplicateObjects: false });
}

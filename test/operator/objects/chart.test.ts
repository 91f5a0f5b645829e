// Goal: a CairnCluster is as good as the chart (KO1). Method: for pairs of a spec and values that mean the same, helm
// renders the chart; its objects are those of the operator, but for the differences that are named here. The checks of
// every render of the chart hold for the objects of the operator, too: the node itself reads its variables.
import { describe, expect, it } from 'vitest';
import { CAIRN_CLUSTER, SET_BY_OPERATOR } from '../../../operator/src/api/index.ts';
import { mountedSecrets, objectsOf } from '../../../operator/src/objects/index.ts';
import { ownSettings, SET_BY_CHART } from '../../../scripts/chart/settings.ts';
import { CHECKS } from '../../charts/checks.ts';
import { rendered, withValues } from '../../charts/helm.ts';
import { idOf, type KubeObject, linesOf, ofKind, parseObjects } from '../../charts/objects.ts';
import { lacksTool } from '../../support/needed-tools.ts';
import { clusterOf, factsOf } from './clusters.ts';
import { PAIRS, type Pair } from './pairs.ts';

/** Values for every cluster: its name, and TLS by a Secret as the operator makes it. */
const ALWAYS = { fullnameOverride: 'shop', tls: { security: 'tlsSecret', existingSecret: 'shop-tls' } };

/** Lines that only one of them has, with the reason. */
const DIFFERENCES: Readonly<Record<string, RegExp>> = {
  'the operator is not Helm': /\.labels\['(?:helm\.sh\/chart|app\.kubernetes\.io\/managed-by)'\] = /,
  'a CairnCluster owns its objects': /\.metadata\.ownerReferences/,
  'the operator replaces pods, and itself counts the time for which one is ready':
    /^StatefulSet\/shop\.spec\.(?:updateStrategy\.type|minReadySeconds) = /,
  'there is no helm test': /^NetworkPolicy\/shop\.spec\.ingress\[1\]\.from\[1\]\.podSelector\.matchLabels/,
};

function objectsOfPair({ spec, served = [] }: Pair): readonly KubeObject[] {
  const cluster = clusterOf({ ...spec });
  const objects = objectsOf(cluster, factsOf(cluster, { servedGroups: new Set(served) }));
  // JSON has no undefined members.
  return JSON.parse(JSON.stringify(objects)) as readonly KubeObject[];
}

function ofChart({ values, served = [] }: Pair): readonly KubeObject[] {
  const merged = new Map<string, unknown>(Object.entries({ ...ALWAYS, ...values }));
  merged.set('tls', { ...ALWAYS.tls, ...(merged.get('tls') as object) });
  const apis = served.flatMap((group) => ['--api-versions', `${group}/v1`]);
  return parseObjects(rendered(...apis, ...withValues(Object.fromEntries(merged))));
}

/** Without Secrets, which are made elsewhere, and the Pod of helm test. */
function lines(objects: readonly KubeObject[]): readonly string[] {
  return objects
    .filter(({ kind }) => kind !== 'Secret' && kind !== 'Pod')
    .flatMap((object) => linesOf(parsed(object), idOf(object)));
}

/** The JSON in ConfigMaps as a value: its spaces and the order of its members do not count. */
function parsed({ data, ...object }: KubeObject): object {
  if (data === undefined) return object;
  const values = Object.entries(data).map(([file, text]): [string, unknown] => [
    file,
    file.endsWith('.json') ? JSON.parse(text) : text,
  ]);
  return { ...object, data: Object.fromEntries(values) };
}

function only(left: readonly string[], right: readonly string[]): readonly string[] {
  const known = new Set(right);
  return left.filter((line) => !known.has(line));
}

function isNamed(line: string): boolean {
  return Object.values(DIFFERENCES).some((regex) => regex.test(line));
}

describe.skipIf(lacksTool('kube'))('objects of a CairnCluster', () => {
  it.each(Object.entries(PAIRS))('are those of the chart, of %s (KO1)', (_name, pair) => {
    const [own, chart] = [lines(objectsOfPair(pair)), lines(ofChart(pair))];
    const found = { more: only(own, chart), less: only(chart, own) };
    const unnamed = {
      more: found.more.filter((line) => !isNamed(line)),
      less: found.less.filter((line) => !isNamed(line)),
    };
    expect(unnamed).toEqual({ more: [], less: [] });
  });

  it('have no difference that is named and no longer there (KO1)', () => {
    const all = Object.values(PAIRS).flatMap((pair) => {
      const [own, chart] = [lines(objectsOfPair(pair)), lines(ofChart(pair))];
      return [...only(own, chart), ...only(chart, own)];
    });
    const stale = Object.entries(DIFFERENCES).filter(([, regex]) => !all.some((line) => regex.test(line)));
    expect(stale).toEqual([]);
  });
});

describe('each object of a CairnCluster', () => {
  it.each(Object.entries(PAIRS))('is one that a cluster and a node take, of %s', (_name, pair) => {
    const objects = objectsOfPair(pair);
    const secrets = Object.values(mountedSecrets(clusterOf({ ...pair.spec })));
    const render = {
      text: objects.map((object) => JSON.stringify(object)).join('\n---\n'),
      objects,
      values: JSON.stringify([pair.spec, secrets]),
    };
    const faults = Object.entries(CHECKS).flatMap(([check, of]) => of(render).map((fault) => `${check}: ${fault}`));
    expect(faults).toEqual([]);
  });

  it('has the owner and the labels by which it is found when it is not wanted any more', () => {
    const owners = Object.values(PAIRS)
      .flatMap(objectsOfPair)
      .map(({ metadata }) => metadata);
    for (const metadata of owners) {
      expect(metadata).toMatchObject({
        namespace: 'prod',
        labels: { 'app.kubernetes.io/instance': 'shop', 'app.kubernetes.io/managed-by': 'cairn-operator' },
        ownerReferences: [{ kind: CAIRN_CLUSTER.kind, name: 'shop', controller: true }],
      });
    }
    expect(owners).not.toHaveLength(0);
  });
});

describe('the settings of a CairnCluster', () => {
  it('are variables of the node, whatever the setting', () => {
    expect(SET_BY_OPERATOR).toEqual(SET_BY_CHART);
    const config = Object.fromEntries(ownSettings().map(({ key, defaultText }) => [key, defaultText]));
    const [pod] = ofKind(objectsOfPair({ spec: { config }, values: {} }), 'StatefulSet');
    const variables = pod?.spec?.template?.spec.containers[0]?.env?.map(({ name }) => name) ?? [];
    expect(variables).toEqual(expect.arrayContaining(ownSettings().map(({ variable }) => variable)));
  });
});

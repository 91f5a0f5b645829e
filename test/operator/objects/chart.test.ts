// Goal: a CairnCluster has the same objects as the chart (KO1). Method: for pairs of an equivalent spec and values,
// helm renders the chart; its objects equal those of the operator, except for the differences that are listed here. The
// checks of every render of the chart also apply to the objects of the operator: the node itself reads its variables.
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

/** Values of every cluster: its name, and TLS by a Secret that the operator creates. */
const ALWAYS = { fullnameOverride: 'shop', tls: { security: 'tlsSecret', existingSecret: 'shop-tls' } };

/** Lines that only one side has, by reason. */
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

/** Omits Secrets, which another controller creates, and the Pod of helm test. */
function lines(objects: readonly KubeObject[]): readonly string[] {
  return objects
    .filter(({ kind }) => kind !== 'Secret' && kind !== 'Pod')
    .flatMap((object) => linesOf(parsed(object), idOf(object)));
}

/** The JSON in ConfigMaps as a value, so that spaces and the order of members do not count. */
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
  it.each(Object.entries(PAIRS))('are those of the chart, for %s (KO1)', (_name, pair) => {
    const [own, chart] = [lines(objectsOfPair(pair)), lines(ofChart(pair))];
    const found = { more: only(own, chart), less: only(chart, own) };
    const unnamed = {
      more: found.more.filter((line) => !isNamed(line)),
      less: found.less.filter((line) => !isNamed(line)),
    };
    expect(unnamed).toEqual({ more: [], less: [] });
  });

  it('have every difference that is listed (KO1)', () => {
    const all = Object.values(PAIRS).flatMap((pair) => {
      const [own, chart] = [lines(objectsOfPair(pair)), lines(ofChart(pair))];
      return [...only(own, chart), ...only(chart, own)];
    });
    const stale = Object.entries(DIFFERENCES).filter(([, regex]) => !all.some((line) => regex.test(line)));
    expect(stale).toEqual([]);
  });
});

describe('each object of a CairnCluster', () => {
  it.each(Object.entries(PAIRS))('passes the checks of a cluster and of a node, for %s', (_name, pair) => {
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

  it('has an owner, and labels by which the operator finds it when the spec no longer wants it', () => {
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
  it('set variables of the node, for every setting', () => {
    expect(SET_BY_OPERATOR).toEqual(SET_BY_CHART);
    const config = Object.fromEntries(ownSettings().map(({ key, defaultText }) => [key, defaultText]));
    const [pod] = ofKind(objectsOfPair({ spec: { config }, values: {} }), 'StatefulSet');
    const variables = pod?.spec?.template?.spec.containers[0]?.env?.map(({ name }) => name) ?? [];
    expect(variables).toEqual(expect.arrayContaining(ownSettings().map(({ variable }) => variable)));
  });
});

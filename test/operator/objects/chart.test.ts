// Goal: a CairnCluster is as good as the chart (KO1). Method: for pairs of a spec and values that mean the same, helm
// renders the chart; its objects are those of the operator, but for the differences that are named here.
import { describe, expect, it } from 'vitest';
import { type OwnedObject, objectsOf } from '../../../operator/src/objects/index.ts';
import { rendered, withValues } from '../../charts/helm.ts';
import { idOf, type KubeObject, linesOf, parseObjects } from '../../charts/objects.ts';
import { lacksTool } from '../../support/needed-tools.ts';
import { clusterOf, factsOf } from './clusters.ts';

interface Pair {
  readonly spec: object;
  readonly values: object;
}

/** Values for every cluster: its name, and TLS by a Secret as the operator makes it. */
const ALWAYS = { fullnameOverride: 'shop', tls: { security: 'tlsSecret', existingSecret: 'shop-tls' } };

const PAIRS: Readonly<Record<string, Pair>> = {
  default: { spec: {}, values: {} },
};

/** Lines that one of them has and the other has not, with the reason. */
const DIFFERENCES: Readonly<Record<string, RegExp>> = {
  'the operator is not Helm': /\.labels\['(helm\.sh\/chart|app\.kubernetes\.io\/managed-by)'\] = /,
  'a CairnCluster owns its objects': /\.metadata\.ownerReferences/,
  'the operator replaces pods, and counts the time for which one is ready':
    /^StatefulSet\/shop\.spec\.(updateStrategy\.type|minReadySeconds) = /,
};

/** Secrets are made elsewhere; the Pod is that of `helm test`. */
const NOT_COMPARED = ['Secret', 'Pod'];

function lines(objects: readonly KubeObject[]): readonly string[] {
  return objects
    .filter(({ kind }) => !NOT_COMPARED.includes(kind))
    .flatMap((object) => [`${idOf(object)} ${object.apiVersion}`, ...linesOf(object, idOf(object))])
    .toSorted();
}

/** As it is sent: without members that are undefined. */
function asJson(objects: readonly OwnedObject[]): readonly KubeObject[] {
  return JSON.parse(JSON.stringify(objects)) as readonly KubeObject[];
}

function unnamed(left: readonly string[], right: readonly string[]): readonly string[] {
  const known = new Set(right);
  return left.filter((line) => !known.has(line) && !Object.values(DIFFERENCES).some((regex) => regex.test(line)));
}

describe.skipIf(lacksTool('kube'))('objects of a CairnCluster', () => {
  it.each(Object.keys(PAIRS))('are those of the chart, of %s (KO1)', (name) => {
    const { spec, values } = PAIRS[name] ?? { spec: {}, values: {} };
    const cluster = clusterOf({ ...spec });
    const own = lines(asJson(objectsOf(cluster, factsOf(cluster))));
    const ofChart = lines(parseObjects(rendered(...withValues({ ...ALWAYS, ...values }))));
    expect({ more: unnamed(own, ofChart), less: unnamed(ofChart, own) }).toEqual({ more: [], less: [] });
  });
});

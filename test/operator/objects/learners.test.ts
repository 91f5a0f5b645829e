// Goal: learners have a StatefulSet of their own, and are reached like all other nodes. Method: the objects of a
// CairnCluster with learners, and which pods each of their selectors matches.
import { describe, expect, it } from 'vitest';
import { objectsOf, poolOf } from '../../../operator/src/objects/index.ts';
import { CHECKS, environmentOf } from '../../charts/checks.ts';
import { type KubeObject, ofKind } from '../../charts/objects.ts';
import { clusterOf, factsOf } from './clusters.ts';

const PROMETHEUS = new Set(['monitoring.coreos.com']);
const OUTSIDE = { external: { domain: 'events.example.com', type: 'LoadBalancer' } };

function objectsFor(spec: object): readonly KubeObject[] {
  const cluster = clusterOf({ ...spec });
  const objects = objectsOf(cluster, factsOf(cluster, { servedGroups: PROMETHEUS }));
  return JSON.parse(JSON.stringify(objects)) as readonly KubeObject[];
}

function named(objects: readonly KubeObject[], kind: string, name: string): KubeObject | undefined {
  return ofKind(objects, kind).find(({ metadata }) => metadata.name === name);
}

/** Names of the StatefulSets whose pods have these labels. */
function poolsWith(objects: readonly KubeObject[], labels: object = {}): readonly string[] {
  const wanted = Object.entries(labels).filter(([label]) => label !== 'statefulset.kubernetes.io/pod-name');
  return ofKind(objects, 'StatefulSet')
    .filter(({ spec }) => wanted.every(([label, text]) => spec?.template?.metadata.labels?.[label] === text))
    .map(({ metadata }) => metadata.name);
}

describe('the objects of a cluster with learners', () => {
  const objects = objectsFor({ learners: 2, network: OUTSIDE, monitoring: { mode: 'Always', scrapeBy: 'PodMonitor' } });
  const both = ['shop', 'shop-learners'];

  it('select the pods of one pool, or of both', () => {
    const selected = objects.flatMap(({ kind, metadata: { name }, spec }): readonly (readonly unknown[])[] => {
      const labels = spec?.podSelector?.matchLabels ?? spec?.selector?.matchLabels ?? spec?.selector;
      return labels === undefined ? [] : [[`${kind}/${name}`, poolsWith(objects, labels)]];
    });
    expect(Object.fromEntries(selected)).toEqual({
      'Service/shop-headless': both,
      'Service/shop': both,
      ...Object.fromEntries([0, 1, 2].map((at) => [`Service/shop-${at}`, both])),
      ...Object.fromEntries([0, 1].map((at) => [`Service/shop-learners-${at}`, both])),
      'NetworkPolicy/shop': both,
      'PodMonitor/shop': both,
      'PodDisruptionBudget/shop': ['shop'],
      'PodDisruptionBudget/shop-learners': ['shop-learners'],
      'StatefulSet/shop': ['shop'],
      'StatefulSet/shop-learners': ['shop-learners'],
    });
    const peers = named(objects, 'NetworkPolicy', 'shop')?.spec?.ingress?.[0]?.from ?? [];
    expect(peers.map(({ podSelector }) => poolsWith(objects, podSelector?.matchLabels))).toEqual([both]);
  });

  it('spread the pods of each pool apart from the other one', () => {
    const selected = ofKind(objects, 'StatefulSet').map(({ spec }) => {
      const { topologySpreadConstraints = [] } = spec?.template?.spec ?? {};
      return topologySpreadConstraints.map(({ labelSelector }) => poolsWith(objects, labelSelector.matchLabels));
    });
    expect(selected).toEqual([
      [['shop'], ['shop']],
      [['shop-learners'], ['shop-learners']],
    ]);
  });

  it('have a budget that lets a learner which does not serve be evicted', () => {
    const spec = named(objects, 'PodDisruptionBudget', 'shop-learners')?.spec;
    expect(spec).toMatchObject({ maxUnavailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow' });
  });

  it('have settings by which a learner joins the voters, and founds nothing', () => {
    const ofLearners = objects.filter(({ kind, metadata: { name } }) => kind !== 'StatefulSet' || name !== 'shop');
    const address = (at: number): string => `shop-${at}.shop-headless.prod.svc.cluster.local:50052`;
    expect(environmentOf(ofLearners)).toMatchObject({
      CAIRN_LEARNER: 'true',
      CAIRN_BOOTSTRAP: 'never',
      CAIRN_JOIN: [0, 1, 2].map(address).join(),
    });
    const render = { text: '', objects: ofLearners, values: '' };
    expect(CHECKS['a node or an operator starts with its settings']?.(render)).toEqual([]);
    expect(environmentOf(objects)).not.toHaveProperty('CAIRN_LEARNER');
  });

  it('leave the pods of voters as they are without learners (KO2)', () => {
    const [own, none] = [objects, objectsFor({ network: OUTSIDE, monitoring: { mode: 'Always' } })].map(
      (each) => named(each, 'StatefulSet', 'shop')?.spec,
    );
    expect(own).toEqual(none);
  });
});

it('a pod belongs to a pool by its name', () => {
  const cluster = clusterOf();
  const pools = [
    'shop-0',
    'shop-12',
    'shop-learners-0',
    'shop-learners',
    'shop-recovery',
    'shop-backup-29',
    'a-shop-0',
  ];
  expect(pools.map((pod) => poolOf(cluster, pod))).toEqual([
    'voters',
    'voters',
    'learners',
    ...Array(4).fill(undefined),
  ]);
});

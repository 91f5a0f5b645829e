// Goal: the pod that runs `cairn recover` runs wherever the node of the volume could, with its Secrets, and never
// becomes a node. Method: the pod of a CairnCluster with every field that the pod has, and of the smallest one.
import { expect, it } from 'vitest';
import type { KubeObject } from '../../../operator/src/kube/index.ts';
import { namesOf, recoveryPodOf, runOf, selectorLabels } from '../../../operator/src/objects/index.ts';
import { clusterOf, factsOf } from './clusters.ts';

interface Pod extends KubeObject {
  readonly spec: {
    readonly [field: string]: unknown;
    readonly containers: readonly Readonly<Record<string, unknown>>[];
  };
}

function podOf(spec: object, acceptLoss?: string): Pod {
  const cluster = clusterOf({ ...spec });
  return recoveryPodOf(cluster, factsOf(cluster), { id: 'one', survivor: 'shop-2', acceptLoss }) as unknown as Pod;
}

it('runs the command on the claim of the survivor, with the secret of the nodes', () => {
  const { spec } = podOf({});
  expect(spec['restartPolicy']).toBe('Never');
  expect(spec['volumes']).toEqual(
    expect.arrayContaining([
      { name: 'data', persistentVolumeClaim: { claimName: 'data-shop-2' } },
      { name: 'peer', secret: { secretName: 'shop-peer', defaultMode: 0o440 } },
    ]),
  );
  const [container, ...others] = spec.containers;
  expect(others).toEqual([]);
  expect(container).toMatchObject({
    image: 'cairn:0.1.0',
    command: ['cairn', 'recover'],
    terminationMessagePolicy: 'FallbackToLogsOnError',
    env: expect.arrayContaining([
      { name: 'CAIRN_DATA_DIR', value: '/var/lib/cairn' },
      { name: 'CAIRN_PEER_SECRET_FILE', value: '/etc/cairn/peer/peer-secret' },
    ]),
    volumeMounts: expect.arrayContaining([{ name: 'data', mountPath: '/var/lib/cairn' }]),
  });
  for (const field of ['lifecycle', 'startupProbe', 'livenessProbe', 'readinessProbe', 'ports'])
    expect(container).not.toHaveProperty(field);
  expect(podOf({}, '0a1b2c3d').spec.containers[0]).toMatchObject({
    command: ['cairn', 'recover', '--accept-loss=0a1b2c3d'],
  });
});

it.each([undefined, '0a1b2c3d'])('says which run it is, with the code %s', (acceptLoss) => {
  const pod = podOf({}, acceptLoss);
  expect(runOf(pod)).toEqual({ id: 'one', survivor: 'shop-2', acceptLoss });
  expect(runOf({ metadata: { ...pod.metadata, annotations: {} } })).toBeUndefined();
});

it('is found by the operator, and by no Service, budget or StatefulSet', () => {
  const { 'app.kubernetes.io/component': component, ...others } = selectorLabels(clusterOf());
  const { labels = {} } = podOf({}).metadata;
  expect(labels).toMatchObject(others);
  expect(labels['app.kubernetes.io/component']).not.toBe(component);
  expect(namesOf(clusterOf()).recovery).toBe('shop-recovery');
  expect(podOf({}).spec).not.toHaveProperty('topologySpreadConstraints');
});

it('has what an overlay says about the pods, and none of its further containers', () => {
  const sidecar = { name: 'proxy', image: 'proxy' };
  const tolerations = [{ key: 'dedicated', operator: 'Exists' }];
  const metadata = { annotations: { 'sidecar.istio.io/inject': 'false' } };
  const overlay = { metadata, spec: { tolerations, containers: [sidecar], initContainers: [sidecar] } };
  const { spec, metadata: own } = podOf({ podTemplate: overlay });
  expect(spec['tolerations']).toEqual(tolerations);
  expect(own.annotations).toMatchObject(metadata.annotations);
  expect(spec.containers.map(({ name }) => name)).toEqual(['cairn']);
  expect(spec).not.toHaveProperty('initContainers');
});

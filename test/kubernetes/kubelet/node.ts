/** A Kubernetes node that the kubelet plays: its object, and the reports by which controllers see that it is alive. */
import type { Api } from '../../../operator/src/kube/index.ts';
import { HOST } from '../world.ts';

/** The port at which the API server requests logs and commands. */
export const KUBELET_PORT = 10_250;
const NODES = '/api/v1/nodes';
const CAPACITY = { cpu: '8', memory: '16Gi', pods: '110', 'ephemeral-storage': '50Gi' };

export async function registerNode(api: Api, name: string, zone: string): Promise<void> {
  const labels = {
    'kubernetes.io/hostname': name,
    'kubernetes.io/os': 'linux',
    'kubernetes.io/arch': 'amd64',
    'topology.kubernetes.io/zone': zone,
  };
  await api.create(NODES, { metadata: { name, labels }, status: readyStatus() });
}

/** Reports that the node is ready. */
export async function reportNode(api: Api, name: string): Promise<void> {
  await api.patch(`${NODES}/${name}/status`, { status: readyStatus() });
}

function readyStatus(): object {
  const now = new Date();
  return {
    capacity: CAPACITY,
    allocatable: CAPACITY,
    addresses: [{ type: 'InternalIP', address: HOST }],
    // The API server relays the WebSocket of `kubectl exec`, and does not use SPDY with this kubelet.
    declaredFeatures: ['ExtendWebSocketsToKubelet'],
    daemonEndpoints: { kubeletEndpoint: { Port: KUBELET_PORT } },
    nodeInfo: { kubeletVersion: 'v1.36.3', containerRuntimeVersion: 'runc://1', osImage: 'process kubelet' },
    conditions: [
      { type: 'Ready', status: 'True', reason: 'KubeletReady', lastHeartbeatTime: now, lastTransitionTime: now },
    ],
  };
}

/**
 * A Kubernetes node that the kubelet plays: its object, its status, and the lease by which the controllers see that it
 * is alive. With the label `power=off` it is a machine without power: no lease, no report, and its pods end at once.
 */
import { type Api, apply, type Kind, microTimestamp, unless } from '../../../operator/src/kube/index.ts';
import type { Resource } from '../objects.ts';
import { HOST } from '../world.ts';
import { nowText } from './container.ts';

export interface NodePlan {
  readonly name: string;
  readonly zone: string;
}

const LEASE: Kind = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', plural: 'leases' };
const OWNER = { manager: 'kubelet', force: true };
const LEASE_SECONDS = 12;
/** How often a node reports. */
export const REPORT_MS = 4000;
/** Where the API server asks for logs and commands. */
export const KUBELET_PORT = 10_250;
const CAPACITY = { cpu: '8', memory: '16Gi', pods: '110', 'ephemeral-storage': '50Gi' };

export async function registerNode(api: Api, { name, zone }: NodePlan): Promise<void> {
  const labels = {
    'kubernetes.io/hostname': name,
    'kubernetes.io/os': 'linux',
    'kubernetes.io/arch': 'amd64',
    'topology.kubernetes.io/zone': zone,
  };
  await api.create('/api/v1/nodes', { metadata: { name, labels } }).catch(unless(409));
  await reportNode(api, name);
}

/** Says that the node is ready, and renews its lease. */
export async function reportNode(api: Api, name: string): Promise<void> {
  const now = nowText();
  const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady', message: '' };
  const status = {
    capacity: CAPACITY,
    allocatable: CAPACITY,
    addresses: [
      { type: 'InternalIP', address: HOST },
      { type: 'Hostname', address: name },
    ],
    // The API server passes the WebSocket of `kubectl exec` on, and does not speak SPDY to this kubelet.
    declaredFeatures: ['ExtendWebSocketsToKubelet'],
    daemonEndpoints: { kubeletEndpoint: { Port: KUBELET_PORT } },
    nodeInfo: nodeInfo(name),
    conditions: [{ ...ready, lastHeartbeatTime: now, lastTransitionTime: now }],
  };
  await api.patch(`/api/v1/nodes/${name}/status`, { status });
  const lease = {
    metadata: { namespace: 'kube-node-lease', name },
    spec: {
      holderIdentity: name,
      leaseDurationSeconds: LEASE_SECONDS,
      renewTime: microTimestamp(Date.now()),
    },
  };
  await apply(api, LEASE, lease, OWNER);
}

export function hasPower({ metadata: { labels } }: Resource): boolean {
  return labels?.['power'] !== 'off';
}

function nodeInfo(name: string): object {
  return {
    machineID: name,
    systemUUID: name,
    bootID: name,
    kernelVersion: '',
    osImage: 'process kubelet',
    operatingSystem: 'linux',
    architecture: 'amd64',
    containerRuntimeVersion: 'runc://1',
    kubeletVersion: 'v1.36.3',
    kubeProxyVersion: '',
  };
}

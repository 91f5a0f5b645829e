/** Services: for the names of the pods, for clients, and one for each pod. */
import type { CairnCluster } from '../api/index.ts';
import { defined } from '../kube/index.ts';
import { clientPorts, namesOf, nodeLabels, PORTS, type PortName, podNames } from './names.ts';
import { type ClusterFacts, metadataOf, type OwnedObject, owned } from './owned.ts';

export function servicesOf(cluster: CairnCluster, facts: ClusterFacts): readonly OwnedObject[] {
  const selector = nodeLabels(cluster, facts);
  const ofPods = podNames(cluster, facts).flatMap((pod) => perPod(cluster, pod, selector));
  return [headless(cluster, selector), forClients(cluster, selector), ...ofPods];
}

function headless(cluster: CairnCluster, selector: object): OwnedObject {
  return owned('Service', metadataOf(cluster, { name: namesOf(cluster).headless }), {
    spec: {
      clusterIP: 'None',
      // A node that starts must be found before it is ready.
      publishNotReadyAddresses: true,
      selector,
      ports: portsOf(cluster, [...clientPorts(cluster), 'metrics', 'peer']),
    },
  });
}

function forClients(cluster: CairnCluster, selector: object): OwnedObject {
  const { annotations, ...settings } = cluster.spec.network.service;
  return owned('Service', metadataOf(cluster, { component: 'client', annotations }), {
    spec: defined({ ...settings, selector, ports: portsOf(cluster, clientPorts(cluster)) }),
  });
}

function perPod(cluster: CairnCluster, name: string, labels: object): readonly OwnedObject[] {
  const { external } = cluster.spec.network;
  if (external === undefined) return [];
  const { type, domain, annotations } = external;
  const dnsName = { 'external-dns.alpha.kubernetes.io/hostname': `${name}.${domain}` };
  const metadata = metadataOf(cluster, { name, component: 'pod', annotations: { ...annotations, ...dnsName } });
  const selector = { ...labels, 'statefulset.kubernetes.io/pod-name': name };
  return [owned('Service', metadata, { spec: { type, selector, ports: portsOf(cluster, clientPorts(cluster)) } })];
}

function portsOf({ spec }: CairnCluster, names: readonly PortName[]): readonly object[] {
  const http = spec.tls.disabled ? 'http' : 'https';
  const protocols = {
    grpc: spec.tls.disabled ? 'kubernetes.io/h2c' : 'https',
    http,
    mcp: http,
    metrics: http,
    peer: 'tcp',
  };
  return names.map((name) => ({ name, port: PORTS[name], targetPort: name, appProtocol: protocols[name] }));
}

/** Routes of the Gateway API and of an Ingress, to the Services. */
import type { CairnCluster } from '../api/index.ts';
import { defined } from '../kube/index.ts';
import { PORTS, podNames } from './names.ts';
import { type ClusterFacts, metadataOf, type OwnedObject, owned } from './owned.ts';

export function routesOf(cluster: CairnCluster, facts: ClusterFacts): readonly OwnedObject[] {
  const { gateway } = cluster.spec.network;
  return [...(gateway === undefined ? [] : ofGateway(cluster, gateway, facts)), ...ingressOf(cluster)];
}

type Gateway = NonNullable<CairnCluster['spec']['network']['gateway']>;

function ofGateway(cluster: CairnCluster, gateway: Gateway, facts: ClusterFacts): readonly OwnedObject[] {
  const { parentRefs, grpcHostnames, httpHostnames, mcpPath, passthrough } = gateway;
  const { metadata, spec } = cluster;
  const metadataOfRoute = metadataOf(cluster, { component: 'client' });
  const toPort = (port: number): object => ({ backendRefs: [{ name: metadata.name, port }] });
  const routes: OwnedObject[] = [];
  if (grpcHostnames !== undefined) {
    const rules = [toPort(PORTS.grpc)];
    routes.push(owned('GRPCRoute', metadataOfRoute, { spec: { parentRefs, hostnames: grpcHostnames, rules } }));
  }
  if (httpHostnames !== undefined) {
    const rules = [
      ...(mcpPath === undefined ? [] : [{ ...withoutPrefix(mcpPath), ...toPort(PORTS.mcp) }]),
      toPort(PORTS.http),
    ];
    routes.push(owned('HTTPRoute', metadataOfRoute, { spec: { parentRefs, hostnames: httpHostnames, rules } }));
  }
  if (!passthrough) return routes;
  const ofPods = podNames(cluster, facts).map((name) => {
    const rules = [{ backendRefs: [{ name, port: PORTS.grpc }] }];
    const hostnames = [`${name}.${spec.network.external?.domain}`];
    return owned('TLSRoute', metadataOf(cluster, { name, component: 'pod' }), {
      spec: { parentRefs, hostnames, rules },
    });
  });
  return [...routes, ...ofPods];
}

/** The MCP endpoint is at / of its port. */
function withoutPrefix(value: string): object {
  const path = { type: 'ReplacePrefixMatch', replacePrefixMatch: '/' };
  return {
    matches: [{ path: { type: 'PathPrefix', value } }],
    filters: [{ type: 'URLRewrite', urlRewrite: { path } }],
  };
}

function ingressOf(cluster: CairnCluster): readonly OwnedObject[] {
  const { ingress } = cluster.spec.network;
  if (ingress === undefined) return [];
  const { annotations, className, hostnames = [], mcpHostnames = [], tlsSecretName } = ingress;
  const rule = (host: string, port: string): object => {
    const backend = { service: { name: cluster.metadata.name, port: { name: port } } };
    return { host, http: { paths: [{ path: '/', pathType: 'Prefix', backend }] } };
  };
  const spec = defined({
    ingressClassName: className,
    tls: tlsSecretName && [{ secretName: tlsSecretName, hosts: [...hostnames, ...mcpHostnames] }],
    rules: [...hostnames.map((host) => rule(host, 'http')), ...mcpHostnames.map((host) => rule(host, 'mcp'))],
  });
  return [owned('Ingress', metadataOf(cluster, { component: 'client', annotations }), { spec })];
}

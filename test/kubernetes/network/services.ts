/**
 * Services and their endpoints, with their virtual addresses as one nft table. Clients keep their own source address,
 * so that network policies see it. Only a pod that reaches itself by its Service is masqueraded.
 */
import type { EndpointSlice, Service } from '../objects.ts';

export interface Services {
  /** Services by namespace/name; slices have the same keys. */
  readonly services: ReadonlyMap<string, Service>;
  readonly slices: ReadonlyMap<string, EndpointSlice>;
}

interface Endpoint {
  readonly address: string;
  /** The name of the pod in its Service. */
  readonly hostname: string | undefined;
  readonly ports: ReadonlyMap<string, number>;
}

/** The ready endpoints of a Service. */
export function endpointsOf({ metadata }: Service, { slices }: Services): readonly Endpoint[] {
  const own = [...slices.values()].filter(
    (slice) =>
      slice.metadata.namespace === metadata.namespace &&
      slice.metadata.labels?.['kubernetes.io/service-name'] === metadata.name,
  );
  return own.flatMap((slice) => {
    const ports = new Map(slice.ports?.map(({ name = '', port = 0 }) => [name, port]));
    const ready = (slice.endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false);
    return ready.flatMap(({ addresses, hostname }) => addresses.map((address) => ({ address, hostname, ports })));
  });
}

/** The table as input of `nft -f`. */
export function serviceTable(cluster: Services): string {
  const toEndpoint: string[] = [];
  const refused: string[] = [];
  const toSelf = new Set<string>();
  for (const service of cluster.services.values()) {
    const { clusterIP = 'None', ports = [] } = service.spec;
    if (clusterIP === 'None') continue;
    const endpoints = endpointsOf(service, cluster);
    for (const { address } of endpoints) toSelf.add(`ip saddr ${address} ip daddr ${address} masquerade`);
    for (const { name = '', port, protocol = 'TCP' } of ports) {
      const match = `ip daddr ${clusterIP} ${protocol.toLowerCase()} dport ${port}`;
      const backends = endpoints.filter((endpoint) => endpoint.ports.has(name));
      const map = backends.map(({ address, ports: own }, at) => `${at} : ${address} . ${own.get(name)}`);
      if (map.length === 0) refused.push(`${match} reject`);
      else toEndpoint.push(`${match} dnat to numgen random mod ${map.length} map { ${map.join(', ')} }`);
    }
  }
  return `
table ip services
delete table ip services
table ip services {
  ${chain('from-pods', 'nat hook prerouting priority -100', toEndpoint)}
  ${chain('from-machine', 'nat hook output priority -100', toEndpoint)}
  ${chain('to-self', 'nat hook postrouting priority 100', [...toSelf])}
  ${chain('refuse-pods', 'filter hook forward priority filter', refused)}
  ${chain('refuse-machine', 'filter hook output priority filter', refused)}
}
`;
}

function chain(name: string, type: string, rules: readonly string[]): string {
  return `chain ${name} {\n    type ${type};\n    ${rules.join('\n    ')}\n  }`;
}

/**
 * Virtual addresses of Services, as one nft table. Clients keep their own source address, so that network policies see
 * it; only a pod that reaches itself by its Service is masqueraded.
 */
import type { Service } from '../objects.ts';
import type { ServiceTable } from './service-table.ts';

/** The table, as `nft -f` takes it. */
export function proxyTable(table: ServiceTable): string {
  const virtual = [...table.services].filter(({ spec }) => (spec.clusterIP ?? 'None') !== 'None');
  const rules = virtual.flatMap((service) => portRules(service, table));
  const toEndpoint = rules.flatMap(({ nat }) => nat ?? []);
  const refused = rules.flatMap(({ reject }) => reject ?? []);
  const addresses = new Set(virtual.flatMap((service) => table.endpointsOf(service).map(({ address }) => address)));
  const toSelf = [...addresses].map((address) => `ip saddr ${address} ip daddr ${address} masquerade`);
  return `
table ip services
delete table ip services
table ip services {
${chain('from-pods', 'nat hook prerouting priority -100', toEndpoint)}
${chain('from-machine', 'nat hook output priority -100', toEndpoint)}
${chain('to-self', 'nat hook postrouting priority 100', toSelf)}
${chain('refuse-pods', 'filter hook forward priority filter', refused)}
${chain('refuse-machine', 'filter hook output priority filter', refused)}
}
`;
}

function chain(name: string, type: string, rules: readonly string[]): string {
  return `chain ${name} {\n  type ${type};\n  ${rules.join('\n  ')}\n}`;
}

function portRules(
  service: Service,
  table: ServiceTable,
): readonly { readonly nat?: string; readonly reject?: string }[] {
  return (service.spec.ports ?? []).map(({ name = '', port, protocol = 'TCP' }) => {
    const match = `ip daddr ${service.spec.clusterIP} ${protocol.toLowerCase()} dport ${port}`;
    const backends = table.backendsOf(service, name).map((backend, at) => `${at} : ${backend}`);
    if (backends.length === 0) return { reject: `${match} reject` };
    return { nat: `${match} dnat to numgen random mod ${backends.length} map { ${backends.join(', ')} }` };
  });
}

/** The network of a cluster: names, virtual addresses and network policies, kept as the API server has them. */
import { setTimeout as delay } from 'node:timers/promises';
import {
  type EndpointSlice,
  follow,
  type Harness,
  type NetworkPolicy,
  type Pod,
  type Resource,
  type Service,
} from '../objects.ts';
import { coalesced, feed } from '../run.ts';
import { serveNames } from './dns.ts';
import { policyTable } from './policies.ts';
import { serviceTable } from './services.ts';

/** Changes within this time are applied together. */
const GATHER_MS = 30;

/** Serves the network until the process ends. Virtual addresses follow a change later, as on a large cluster. */
export async function startNetwork(harness: Harness, lagMs: number): Promise<void> {
  const watch = <Item extends Resource>(path: string, onChange: () => void): ReadonlyMap<string, Item> =>
    follow<Item>(harness, path, { onSet: onChange, onDelete: onChange });
  const proxy = kept(harness, () => serviceTable(cluster), lagMs);
  const cluster = {
    services: watch<Service>('/api/v1/services', proxy),
    slices: watch<EndpointSlice>('/apis/discovery.k8s.io/v1/endpointslices', proxy),
  };
  const filter = kept(harness, () =>
    policyTable({ policies: [...policies.values()], pods: [...pods.values()], namespaces: [...namespaces.values()] }),
  );
  const policies = watch<NetworkPolicy>('/apis/networking.k8s.io/v1/networkpolicies', filter);
  const pods = watch<Pod>('/api/v1/pods', filter);
  const namespaces = watch('/api/v1/namespaces', filter);
  await serveNames(cluster);
}

/** Keeps a table of nft up to date: loads it again when its content has changed, after one to two times `lagMs`. */
function kept({ log }: Harness, table: () => string, lagMs = 0): () => void {
  let loaded = '';
  const load = coalesced(async () => {
    await delay(GATHER_MS);
    const text = table();
    await delay(lagMs);
    if (text !== loaded) await feed(text, 'nft', '-f', '-');
    loaded = text;
  });
  return () => void load().catch((error: unknown) => log(`network: ${String(error)}`));
}

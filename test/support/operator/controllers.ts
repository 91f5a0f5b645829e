// The controllers of databases, access and components, for an API server and a node.
import { CAIRN_CLUSTER, type CairnCluster } from '../../../operator/src/api/index.ts';
import { type Channel, GrpcComponents, GrpcDatabases, GrpcKeys } from '../../../operator/src/client/index.ts';
import {
  type Api,
  EventRecorder,
  Informer,
  type Kind,
  type KubeObject,
  pathOf,
} from '../../../operator/src/kube/index.ts';
import { controlResources, type ResourcePorts } from '../../../operator/src/resources.ts';

interface Parts extends Pick<ResourcePorts, 'control'> {
  readonly api: Api;
  readonly signal: AbortSignal;
  readonly onError: (error: unknown) => void;
}

/** Starts controllers whose clients are given. */
export function startControllers(
  { api, signal, control, onError }: Parts,
  clients: Pick<ResourcePorts, 'databasesOf' | 'keysOf' | 'componentsOf' | 'callsOf' | 'random'>,
): void {
  const follow = <Item extends KubeObject>(kind: Kind): Informer<Item> => {
    const informer = new Informer<Item>(api, pathOf(kind), { onError });
    void informer.run(signal);
    return informer;
  };
  const events = new EventRecorder(api, { controller: 'cairn.dev/test', instance: 'test', onError });
  const clusters = follow<CairnCluster>(CAIRN_CLUSTER);
  controlResources({ api, clusters, follow, control, recorder: () => events, ...clients });
}

/** Clients of the node of a channel. */
export function clientsOf(channel: Channel): Parameters<typeof startControllers>[1] {
  return {
    databasesOf: async () => new GrpcDatabases(channel),
    keysOf: async () => new GrpcKeys(channel),
    componentsOf: async () => new GrpcComponents(channel),
    callsOf: async () => undefined,
  };
}

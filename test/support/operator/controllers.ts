// The controllers of databases, access and State Views, for an API server and a node.
import { AccessController } from '../../../operator/src/access/index.ts';
import {
  CAIRN_CLUSTER,
  type CairnCluster,
  EVENT_ACCESS,
  EVENT_DATABASE,
  type EventAccess,
  type EventDatabase,
  STATE_VIEW,
} from '../../../operator/src/api/index.ts';
import { type Channel, GrpcComponents, GrpcDatabases, GrpcKeys } from '../../../operator/src/client/index.ts';
import { ComponentController, type ComponentResource } from '../../../operator/src/components/index.ts';
import { DatabaseController } from '../../../operator/src/databases/index.ts';
import {
  type Api,
  type Controller,
  EventRecorder,
  Informer,
  type Kind,
  type KubeObject,
  pathOf,
  type Source,
} from '../../../operator/src/kube/index.ts';
import { Clusters } from '../../../operator/src/reconcile/index.ts';

interface Parts {
  readonly api: Api;
  readonly signal: AbortSignal;
  readonly channel: Channel;
  readonly onError: (error: unknown) => void;
  readonly run: <Observed, Action>(controller: Controller<Observed, Action>, sources: readonly Source[]) => void;
}

export function startControllers({ api, signal, channel, onError, run }: Parts): void {
  const follow = <Item extends KubeObject>(kind: Kind): Informer<Item> => {
    const informer = new Informer<Item>(api, pathOf(kind), { onError });
    void informer.run(signal);
    return informer;
  };
  const databases = follow<EventDatabase>(EVENT_DATABASE);
  const clusters = new Clusters(api, follow<CairnCluster>(CAIRN_CLUSTER));
  const events = new EventRecorder(api, { controller: 'cairn.dev/test', instance: 'test', onError });
  const shared = { api, clusters, events };
  const ofDatabases = new DatabaseController({
    ...shared,
    informer: databases,
    connect: () => Promise.resolve(new GrpcDatabases(channel)),
  });
  const ofAccess = new AccessController({
    ...shared,
    informer: follow<EventAccess>(EVENT_ACCESS),
    databases,
    connect: () => Promise.resolve(new GrpcKeys(channel)),
  });
  const ofViews = new ComponentController({
    ...shared,
    kind: 'StateView',
    informer: follow<ComponentResource>(STATE_VIEW),
    databases,
    connect: () => Promise.resolve(new GrpcComponents(channel)),
    callsOf: () => Promise.resolve(undefined),
  });
  run(ofDatabases, ofDatabases.sources);
  run(ofAccess, ofAccess.sources);
  run(ofViews, ofViews.sources);
}

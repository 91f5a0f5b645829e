/** Puts the controllers of databases, access and components together, with the informers that they share. */
import { accessController } from './access/index.ts';
import { type CairnCluster, EVENT_ACCESS, EVENT_DATABASE, type EventAccess, type EventDatabase } from './api/index.ts';
import type { Calls, Components, Databases, Keys } from './client/index.ts';
import { type ComponentResource, componentController, RESOURCES } from './components/index.ts';
import { databaseController } from './databases/index.ts';
import type { Api, EventRecorder, Informer, Kind, KubeObject } from './kube/index.ts';
import { Clusters, type ResourceController } from './reconcile/index.ts';

export interface ResourcePorts {
  readonly api: Api;
  readonly clusters: Informer<CairnCluster>;
  /** An informer of the objects of a kind, which runs. */
  readonly follow: <Item extends KubeObject>(kind: Kind) => Informer<Item>;
  /** Runs a controller. */
  readonly control: <World, Action>(controller: ResourceController<World, Action>) => void;
  readonly recorder: (controller: string) => EventRecorder;
  readonly databasesOf: (cluster: CairnCluster) => Promise<Databases>;
  readonly keysOf: (cluster: CairnCluster) => Promise<Keys>;
  readonly componentsOf: (cluster: CairnCluster) => Promise<Components>;
  /** Calls of a component on the nodes of clusters; undefined when one does not answer. */
  readonly callsOf: (clusters: readonly CairnCluster[], digest: string) => Promise<Calls | undefined>;
  readonly random?: (count: number) => Buffer;
}

export function controlResources(ports: ResourcePorts): void {
  const { api, follow, control, recorder, callsOf, random } = ports;
  const databases = follow<EventDatabase>(EVENT_DATABASE);
  const shared = { api, clusters: new Clusters(api, ports.clusters), databases };
  const ofDatabases = { informer: databases, connect: ports.databasesOf, events: recorder('databases') };
  control(databaseController({ ...shared, ...ofDatabases }));
  const ofAccess = { informer: follow<EventAccess>(EVENT_ACCESS), connect: ports.keysOf, events: recorder('access') };
  control(accessController({ ...shared, ...ofAccess, ...(random && { random }) }));
  const ofComponents = { ...shared, connect: ports.componentsOf, callsOf, events: recorder('components') };
  for (const kind of ['StateView', 'StateChange', 'Presenter'] as const)
    control(componentController({ ...ofComponents, kind, informer: follow<ComponentResource>(RESOURCES[kind]) }));
}

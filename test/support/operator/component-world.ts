// State Views in an API server in memory, EventDatabases that are ready, a naive Cairn, and processes of the operator.
import {
  CAIRN_CLUSTER,
  type CairnCluster,
  EVENT_DATABASE,
  type EventDatabase,
  STATE_VIEW,
  type StateView,
} from '../../../operator/src/api/index.ts';
import { ComponentController, type ComponentResource } from '../../../operator/src/components/index.ts';
import { EventRecorder, Informer, type Kind, pathOf } from '../../../operator/src/kube/index.ts';
import { Clusters } from '../../../operator/src/reconcile/index.ts';
import type { FaultRates } from '../kube-api/faults.ts';
import type { Json } from '../kube-api/store.ts';
import { DatabaseWorld } from './database-world.ts';
import { NaiveComponents } from './naive-components.ts';
import { OperatorProcess } from './process.ts';

const CONFIG_MAP: Kind = { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps' };

export class ComponentWorld extends DatabaseWorld {
  readonly components: NaiveComponents;

  constructor(seed: number, rates?: FaultRates) {
    super(seed, rates);
    this.components = new NaiveComponents(this.runtime, this.cairn);
  }

  /** A database with an EventDatabase, which is ready. */
  addDatabase(name: string, labels: Json = {}): void {
    this.create(name);
    const { id } = this.cairn.create(name, 'operator');
    const target = this.target(EVENT_DATABASE, name);
    this.server.store.merge(target, { metadata: { labels } }, 'user');
    const status = {
      databaseID: id,
      conditions: [{ type: 'Ready', status: 'True', reason: 'Available', message: '' }],
    };
    this.server.store.replace({ ...target, isStatus: true }, { status }, 'databases');
  }

  /** Puts a component into the ConfigMap `view`. */
  provide(wasm: Buffer): void {
    const target = this.target(CONFIG_MAP, 'view');
    const binaryData = { 'component.wasm': wasm.toString('base64') };
    const found = this.server.store.list(target.collection);
    if (found.length === 0) this.server.store.create(target, { binaryData }, 'user');
    else this.server.store.merge(target, { binaryData }, 'user');
  }

  publish(name: string, spec: Json = {}): void {
    const defaults = {
      databases: { selector: {} },
      source: { configMap: { name: 'view', key: 'component.wasm' } },
      contentType: 'application/json',
      eventTypes: ['a'],
      maintenance: 'Lazy',
      active: true,
      rollout: { strategy: 'All', timeoutSeconds: 60 },
      reclaimPolicy: 'Retain',
    };
    const metadata = { creationTimestamp: new Date(this.runtime.wallMs()).toISOString() };
    this.server.store.create(this.target(STATE_VIEW, name), { metadata, spec: { ...defaults, ...spec } }, 'user');
  }

  change(name: string, spec: Json): void {
    this.server.store.merge(this.target(STATE_VIEW, name), { spec }, 'user');
  }

  withdraw(name: string): void {
    this.server.store.delete(this.target(STATE_VIEW, name));
  }

  view(name: string): StateView | undefined {
    const views = this.server.store.list(pathOf(STATE_VIEW)) as unknown as readonly StateView[];
    return views.find(({ metadata }) => metadata.name === name);
  }

  override start(): OperatorProcess {
    const process = new OperatorProcess(this.runtime, this.server);
    const { api, signal } = process;
    const onError = (): void => undefined;
    const clusters = new Informer<CairnCluster>(api, pathOf(CAIRN_CLUSTER), { onError });
    const databases = new Informer<EventDatabase>(api, pathOf(EVENT_DATABASE), { onError });
    const informer = new Informer<ComponentResource>(api, pathOf(STATE_VIEW), { onError });
    const controller = new ComponentController({
      api,
      kind: 'StateView',
      informer,
      databases,
      clusters: new Clusters(api, clusters),
      connect: () => this.cairn.call(() => this.components.componentsFor(process)),
      callsOf: async (_clusters, digest) => this.components.calls.get(digest),
      events: new EventRecorder(api, { controller: 'cairn.dev/components', instance: 'test', onError }),
    });
    for (const each of [clusters, databases, informer]) void each.run(signal);
    process.run(controller, controller.sources);
    return process;
  }
}

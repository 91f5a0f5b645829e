// State Views in an API server in memory, EventDatabases that are ready, a naive Cairn, and processes of the operator.
import { EVENT_DATABASE, STATE_VIEW, type StateView } from '../../../operator/src/api/index.ts';
import { CONFIG_MAP, pathOf } from '../../../operator/src/kube/index.ts';
import type { Json } from '../kube-api/store.ts';
import { DatabaseWorld, reasonsOf } from './database-world.ts';
import type { OperatorProcess } from './process.ts';

export class ComponentWorld extends DatabaseWorld {
  protected override readonly controllers: readonly string[] = ['stateviews'];

  /** A database with an EventDatabase, which is ready. */
  addDatabase(name: string, labels: Json = {}): void {
    this.create(name);
    const { id } = this.cairn.create(name, 'operator');
    const target = this.target(EVENT_DATABASE, name);
    this.server.store.merge(target, { metadata: { labels } }, 'user');
    const conditions = [{ type: 'Ready', status: 'True', reason: 'Available', message: '' }];
    const status = { databaseID: id, conditions };
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

  /** Starts an operator for the State View `view`, with the component `one`. The database shop is the canary. */
  begin(databases: readonly string[], spec: Json = {}): OperatorProcess {
    for (const name of databases) this.addDatabase(name, name === 'shop' ? { stage: 'canary' } : {});
    this.setCluster('True');
    this.provide(Buffer.from('one'));
    this.publish('view', spec);
    return this.start();
  }

  get reasons(): Readonly<Record<string, string>> {
    return reasonsOf(this.view('view'));
  }
}

// EventDatabases in an API server in memory, a naive Cairn, and processes of the operator that act for them.
import { CAIRN_CLUSTER, EVENT_DATABASE, type EventDatabase } from '../../../operator/src/api/index.ts';
import { pathOf } from '../../../operator/src/kube/index.ts';
import type { FaultRates } from '../kube-api/faults.ts';
import { MemoryApi } from '../kube-api/memory-api.ts';
import type { Json, Target } from '../kube-api/store.ts';
import { ManualRuntime } from '../manual-runtime.ts';
import { startControllers } from './controllers.ts';
import { NaiveCairn } from './naive-cairn.ts';
import { NaiveComponents } from './naive-components.ts';
import { OperatorProcess } from './process.ts';

const NAMESPACE = 'default';
export const CLUSTER = 'events';

export class DatabaseWorld {
  readonly runtime: ManualRuntime;
  readonly server: MemoryApi;
  readonly cairn: NaiveCairn;
  readonly components: NaiveComponents;
  /** Names of the running controllers. */
  protected readonly controllers: readonly string[] = ['databases'];
  /** True when the cluster was deleted at any time, so that its contents may remain. */
  hasLeftCluster = false;

  constructor(seed: number, rates?: FaultRates) {
    this.runtime = new ManualRuntime(seed);
    this.server = new MemoryApi(this.runtime, rates);
    this.cairn = new NaiveCairn(this.runtime);
    this.components = new NaiveComponents(this.runtime, this.cairn);
  }

  target(kind: { readonly apiVersion: string; readonly kind: string; readonly plural: string }, name: string): Target {
    return { collection: pathOf(kind), namespace: NAMESPACE, name, isStatus: false };
  }

  /** Sets the existence of the cluster and its condition Ready. */
  setCluster(ready: 'True' | 'False' | 'gone'): void {
    const target = this.target(CAIRN_CLUSTER, CLUSTER);
    const { store } = this.server;
    const [found] = store.list(target.collection);
    if (ready === 'gone') {
      this.hasLeftCluster = true;
      if (found !== undefined) store.delete(target);
      return;
    }
    if (found === undefined) store.create(target, { spec: { auth: { enabled: true } } }, 'user');
    const conditions = [{ type: 'Ready', status: ready, reason: 'Test', message: '' }];
    store.replace({ ...target, isStatus: true }, { status: { conditions } }, 'cluster-controller');
  }

  /** Creates the object in its stored form: with defaults, a timestamp and a status subresource. */
  create(name: string, spec: Json = {}): void {
    const metadata = { creationTimestamp: new Date(this.runtime.wallMs()).toISOString() };
    const defaults = { clusterRef: { name: CLUSTER }, adoptionPolicy: 'Create', reclaimPolicy: 'Retain' };
    this.server.store.create(this.target(EVENT_DATABASE, name), { metadata, spec: { ...defaults, ...spec } }, 'user');
  }

  edit(name: string, spec: Json): void {
    this.server.store.merge(this.target(EVENT_DATABASE, name), { spec }, 'user');
  }

  delete(name: string): void {
    this.server.store.delete(this.target(EVENT_DATABASE, name));
  }

  resources(): readonly EventDatabase[] {
    return this.server.store.list(pathOf(EVENT_DATABASE)) as unknown as readonly EventDatabase[];
  }

  resource(name: string): EventDatabase | undefined {
    return this.resources().find(({ metadata }) => metadata.name === name);
  }

  /** Disturbs the world under faults of both APIs and kills of operators. Both end after some steps. */
  async trouble(
    { steps, faultPercent, writesMax }: { steps: number; faultPercent: number; writesMax: number },
    disturb: () => void,
  ): Promise<void> {
    const { runtime, server, cairn } = this;
    const { chance } = runtime;
    cairn.faultPercent = faultPercent;
    this.setCluster('True');
    let operator = this.start();
    for (let step = 0; step < steps; step += 1) {
      disturb();
      if (chance.chance(30)) operator.killAfter(chance.below(writesMax));
      if (operator.signal.aborted) operator = this.start();
      await runtime.advance(chance.below(20_000));
    }
    operator.killAfter(0);
    server.faults.set();
    cairn.faultPercent = 0;
    cairn.isDown = false;
    this.setCluster('True');
  }

  /** Write requests within a period. */
  async writesWithin(ms: number): Promise<readonly string[]> {
    this.server.requests.length = 0;
    await this.runtime.advance(ms);
    return this.server.requests.filter((request) => !request.startsWith('GET '));
  }

  /** Starts a process of the operator. */
  start(): OperatorProcess {
    const process = new OperatorProcess(this.runtime, this.server);
    const { runtime, cairn, components, controllers } = this;
    startControllers(
      {
        api: process.api,
        signal: process.signal,
        onError: () => undefined,
        control: (controller) => {
          if (controllers.includes(controller.name)) process.run(controller);
        },
      },
      {
        databasesOf: () => cairn.call(() => cairn.databasesFor(process)),
        keysOf: () => cairn.call(() => cairn.keysFor(process)),
        componentsOf: () => cairn.call(() => components.componentsFor(process)),
        callsOf: async (_clusters, digest) => components.calls.get(digest),
        random: (count) => Buffer.from(Array.from({ length: count }, () => runtime.chance.below(256))),
      },
    );
    return process;
  }
}

/** Reasons of the conditions of an object, by their types. */
export function reasonsOf(object: Pick<EventDatabase, 'status'> | undefined): Readonly<Record<string, string>> {
  return Object.fromEntries((object?.status?.conditions ?? []).map(({ type, reason }) => [type, reason]));
}

// EventAccess objects in an API server in memory, a naive Cairn, and processes of the operator that act for them.

import { AccessController } from '../../../operator/src/access/index.ts';
import {
  CAIRN_CLUSTER,
  type CairnCluster,
  EVENT_ACCESS,
  EVENT_DATABASE,
  type EventAccess,
  type EventDatabase,
} from '../../../operator/src/api/index.ts';
import { EventRecorder, Informer, type Kind, pathOf } from '../../../operator/src/kube/index.ts';
import { Clusters } from '../../../operator/src/reconcile/index.ts';
import type { Json, Target } from '../kube-api/store.ts';
import { CLUSTER, DatabaseWorld } from './database-world.ts';
import { OperatorProcess } from './process.ts';

export const SECRET: Kind = { apiVersion: 'v1', kind: 'Secret', plural: 'secrets' };

export class AccessWorld extends DatabaseWorld {
  /** Whether a user has deleted a Secret. */
  hasDeletedSecret = false;

  deleteSecret(name: string): void {
    this.hasDeletedSecret = true;
    this.server.store.delete(this.secretTarget(name));
  }

  grant(name: string, spec: Json = {}): void {
    const defaults = {
      clusterRef: { name: CLUSTER },
      grants: [{ role: 'writer', databases: { pattern: 'eu-*' } }],
      secret: { key: 'api-key' },
      rotation: { overlapSeconds: 3600 },
    };
    const metadata = { creationTimestamp: new Date(this.runtime.wallMs()).toISOString() };
    this.server.store.create(this.#access(name), { metadata, spec: { ...defaults, ...spec } }, 'user');
  }

  change(name: string, spec: Json): void {
    this.server.store.merge(this.#access(name), { spec }, 'user');
  }

  withdraw(name: string): void {
    this.server.store.delete(this.#access(name));
  }

  get grants(): readonly EventAccess[] {
    return this.server.store.list(pathOf(EVENT_ACCESS)) as unknown as readonly EventAccess[];
  }

  granted(name: string): EventAccess | undefined {
    return this.grants.find(({ metadata }) => metadata.name === name);
  }

  secretTarget(name: string): Target {
    return this.target(SECRET, name);
  }

  /** Texts of a Secret by their keys. */
  secret(name: string): Readonly<Record<string, string>> | undefined {
    const found = this.server.store.list(pathOf(SECRET)).find(({ metadata }) => metadata.name === name);
    const data = found?.['data'] as Readonly<Record<string, string>> | undefined;
    if (found === undefined) return undefined;
    return Object.fromEntries(
      Object.entries(data ?? {}).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
    );
  }

  override start(): OperatorProcess {
    const process = new OperatorProcess(this.runtime, this.server);
    const { api, signal } = process;
    const onError = (): void => undefined;
    const clusters = new Informer<CairnCluster>(api, pathOf(CAIRN_CLUSTER), { onError });
    const databases = new Informer<EventDatabase>(api, pathOf(EVENT_DATABASE), { onError });
    const informer = new Informer<EventAccess>(api, pathOf(EVENT_ACCESS), { onError });
    const controller = new AccessController({
      api,
      informer,
      databases,
      clusters: new Clusters(api, clusters),
      connect: () => this.cairn.call(() => this.cairn.keysFor(process)),
      events: new EventRecorder(api, { controller: 'cairn.dev/access', instance: 'test', onError }),
      random: (count) => Buffer.from(Array.from({ length: count }, () => this.runtime.chance.below(256))),
    });
    for (const each of [clusters, databases, informer]) void each.run(signal);
    process.run(controller, controller.sources);
    return process;
  }

  #access(name: string): Target {
    return this.target(EVENT_ACCESS, name);
  }
}

// EventAccess objects in an API server in memory, a naive Cairn, and processes of the operator that act for them.
import { EVENT_ACCESS, type EventAccess } from '../../../operator/src/api/index.ts';
import { pathOf, SECRET, textsOf } from '../../../operator/src/kube/index.ts';
import type { Json, Target } from '../kube-api/store.ts';
import { CLUSTER, DatabaseWorld } from './database-world.ts';

export class AccessWorld extends DatabaseWorld {
  protected override readonly controllers: readonly string[] = ['access'];
  /** True when a user has deleted a Secret. */
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
    return found && textsOf(found);
  }

  #access(name: string): Target {
    return this.target(EVENT_ACCESS, name);
  }
}

/**
 * A catalog state machine on a store in memory: applies entries in log order, has shortcuts for common entries, and
 * reopens from the written rows.
 */
import { CATALOG_GROUP, type DatabaseId, LEVELS, replicaOf, toDatabaseId, toLogIndex, toNodeId, toTerm } from '#base';
import {
  type CatalogEntry,
  CatalogMachine,
  type CatalogOutcome,
  encodeCatalogEntry,
  type NodeRegistration,
} from '#database';
import type { KvStore } from '#kv';
import { sourceOf } from './database-host.ts';
import { memoryKv } from './memory-kv.ts';

export function idOf(n: number): DatabaseId {
  return toDatabaseId(`0198c0de-0000-7000-8000-${n.toString(16).padStart(12, '0')}`);
}

export function replicasOn(nodes: readonly number[], copy = 0): ReturnType<typeof replicaOf>[] {
  return nodes.map((node) => replicaOf(toNodeId(node), copy));
}

/** Registration of the store with number `n`. */
export function registrationOf(n: number, more: Partial<NodeRegistration> = {}): NodeRegistration {
  const peer = { host: '127.0.0.1', port: n };
  const said = { name: `node-${n}`, zone: '', peer, grpc: '', http: '', levels: LEVELS, isLearner: false };
  return { storeId: idOf(n), ...said, ...more };
}

export class CatalogHost {
  readonly kv: KvStore = memoryKv();
  machine: CatalogMachine = this.open();
  #index = 0;

  /** Opens the machine as after a restart. */
  open(): CatalogMachine {
    return CatalogMachine.open(sourceOf(this.kv, CATALOG_GROUP), Uint8Array.of(1, 2, 3));
  }

  apply(entry: CatalogEntry): CatalogOutcome {
    return this.applyPayload(encodeCatalogEntry(entry));
  }

  applyPayload(payload: Uint8Array): CatalogOutcome {
    return this.machine.decide({ index: toLogIndex(++this.#index), term: toTerm(1), payload });
  }

  create(name: string, n: number, nodes: readonly number[], copies = 0): CatalogOutcome {
    const replicas = replicasOn(nodes);
    return this.apply({ kind: 'create', name, databaseId: idOf(n), createdAtMs: n, replicas, copies });
  }

  register(n: number, more: Partial<NodeRegistration> = {}): CatalogOutcome {
    return this.apply({ kind: 'register', registration: registrationOf(n, more) });
  }

  async flush(): Promise<void> {
    const batch = this.kv.batch();
    this.machine.flushInto(batch);
    await this.kv.write(batch);
  }

  async reopen(): Promise<void> {
    await this.flush();
    this.machine = this.open();
  }
}

/** The components in the databases of a cluster, and which nodes can run them. */
import type { PresenterSpec, StateChangeSpec, StateViewSpec } from '../api/index.ts';

/** Fields of a spec that say where, when and how long, and are no metadata. */
export type Beside = 'databases' | 'name' | 'source' | 'rollout' | 'retainVersions' | 'reclaimPolicy';

export type ComponentKind = 'StateView' | 'StateChange' | 'Presenter';
export type Maintenance = 'Lazy' | 'Eager' | 'Scheduled';

export interface ComponentId {
  readonly database: string;
  readonly kind: ComponentKind;
  readonly name: string;
}

export interface ComponentVersion {
  readonly version: number;
  /** SHA-256 of the component, as sha256: and 64 digits. */
  readonly digest: string;
  readonly isActive: boolean;
  readonly maintenance: Maintenance;
}

export interface Holder {
  /** Digests of the components that it has compiled. */
  readonly compiled: ReadonlySet<string>;
  /** Components that it cannot run, with the reason, by their digests. */
  readonly refused: ReadonlyMap<string, string>;
}

/** The spec of a resource, as far as it is metadata of the publication. */
export type Publication =
  | ({ readonly kind: 'StateView' } & Omit<StateViewSpec, Beside | 'maintenance' | 'active'>)
  | ({ readonly kind: 'StateChange' } & Omit<StateChangeSpec, Beside>)
  | ({ readonly kind: 'Presenter' } & Omit<PresenterSpec, Beside>);

/** Two implementations: gRPC, and the simulation of test/operator. Calls reject with a `CallError`. */
export interface Components {
  /** Versions in ascending order. */
  list(id: ComponentId): Promise<readonly ComponentVersion[]>;
  /** Nodes that hold each database, by its name. A node that does not answer has compiled nothing. */
  holders(): Promise<ReadonlyMap<string, readonly Holder[]>>;
  /** Publishes a version that is not active. Returns the existing one for the same component and metadata. */
  publish(id: ComponentId, publication: Publication, wasm: Buffer): Promise<number>;
  activate(id: ComponentId, version: number, maintenance: Maintenance): Promise<void>;
  deactivate(id: ComponentId, version: number): Promise<void>;
  /** Deletes a version that is not active, or without a version all. Succeeds when there is none. */
  delete(id: ComponentId, version?: number): Promise<void>;
}

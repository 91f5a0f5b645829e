/** The components in the databases of a cluster, and which nodes can run them. */
import { ClusterAdminService, type OwnDescription } from '../../../proto/gen/cairn/admin/v1/admin.ts';
import { ComponentKind as KindMessage, MaintenanceMode } from '../../../proto/gen/cairn/v1/component.ts';
import { EventStoreService } from '../../../proto/gen/cairn/v1/event_store.ts';
import { ChannelClient, unlessNotFound } from './channel.ts';
import {
  type ComponentId,
  type ComponentKind,
  changeRequest,
  type Publication,
  presenterRequest,
  viewRequest,
} from './publication.ts';

export type Maintenance = 'Lazy' | 'Eager' | 'Scheduled';

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

/** A node looks at a component for up to 20 seconds before it publishes it. */
const PUBLISH_MS = 60_000;

const KINDS: Readonly<Record<ComponentKind, KindMessage>> = {
  StateView: KindMessage.COMPONENT_KIND_STATE_VIEW,
  StateChange: KindMessage.COMPONENT_KIND_STATE_CHANGE,
  Presenter: KindMessage.COMPONENT_KIND_PRESENTER,
};

const MODES: Readonly<Record<Maintenance, MaintenanceMode>> = {
  Lazy: MaintenanceMode.MAINTENANCE_MODE_LAZY,
  Eager: MaintenanceMode.MAINTENANCE_MODE_EAGER,
  Scheduled: MaintenanceMode.MAINTENANCE_MODE_SCHEDULED,
};

/** The public methods of the client. The simulation of test/operator has them, too. Calls reject with a `CallError`. */
export type Components = Pick<GrpcComponents, keyof GrpcComponents>;

export class GrpcComponents extends ChannelClient {
  /** Versions in ascending order. */
  async list({ database: databaseName, kind, name }: ComponentId): Promise<readonly ComponentVersion[]> {
    const request = { databaseName, kind: KINDS[kind], name };
    const { versions } = await this.channel.call(EventStoreService.listComponentVersions, request);
    return versions.map(({ version, wasmDigest, active: isActive, maintenanceMode }) => ({
      version,
      digest: `sha256:${wasmDigest.toString('hex')}`,
      isActive,
      maintenance: maintenanceOf(maintenanceMode),
    }));
  }

  /** Nodes that hold each database, by its name. A node that does not answer has compiled nothing. */
  async holders(): Promise<ReadonlyMap<string, readonly Holder[]>> {
    const { nodes, databases } = await this.channel.call(ClusterAdminService.describeCluster, { isPassedOn: false });
    const holders = new Map(nodes.map(({ node, own }) => [node, holderOf(own)]));
    return new Map(
      databases.map(({ name, nodes: ids }) => [name, ids.map((id) => holders.get(id) ?? holderOf(undefined))]),
    );
  }

  /** Publishes a version that is not active. Returns the existing one for the same component and metadata. */
  async publish(id: ComponentId, publication: Publication, wasm: Buffer): Promise<number> {
    const { version } = await this.#publish(id, publication, wasm);
    return version;
  }

  async activate({ database, kind, name }: ComponentId, version: number, maintenance: Maintenance): Promise<void> {
    const maintenanceMode = kind === 'StateView' ? MODES[maintenance] : MaintenanceMode.MAINTENANCE_MODE_UNSPECIFIED;
    const request = { databaseName: database, kind: KINDS[kind], name, version, maintenanceMode };
    await this.channel.call(EventStoreService.activateComponent, request);
  }

  async deactivate({ database: databaseName, kind, name }: ComponentId, version: number): Promise<void> {
    await this.channel.call(EventStoreService.deactivateComponent, { databaseName, kind: KINDS[kind], name, version });
  }

  /** Deletes a version that is not active, or without a version all. Succeeds when there is none. */
  async delete({ database: databaseName, kind, name }: ComponentId, version?: number): Promise<void> {
    const request = { databaseName, kind: KINDS[kind], name, version, onlyInactive: version !== undefined };
    await this.channel.call(EventStoreService.deleteComponent, request).catch(unlessNotFound);
  }

  #publish(id: ComponentId, publication: Publication, wasm: Buffer): Promise<{ readonly version: number }> {
    const options = { deadlineMs: PUBLISH_MS };
    if (publication.kind === 'StateView') {
      const request = viewRequest(id, publication, wasm);
      return this.channel.call(EventStoreService.publishStateView, request, options);
    }
    if (publication.kind === 'StateChange') {
      const request = changeRequest(id, publication, wasm);
      return this.channel.call(EventStoreService.publishStateChange, request, options);
    }
    return this.channel.call(EventStoreService.publishPresenter, presenterRequest(id, publication, wasm), options);
  }
}

/** A node that has not answered counts as one that has compiled nothing. */
function holderOf(own: OwnDescription | undefined): Holder {
  const { components = [], refused = [] } = own ?? {};
  return {
    compiled: new Set(components.map((digest) => `sha256:${digest}`)),
    refused: new Map(refused.map(({ digest, fault }) => [`sha256:${digest}`, fault])),
  };
}

function maintenanceOf(mode: MaintenanceMode): Maintenance {
  if (mode === MaintenanceMode.MAINTENANCE_MODE_EAGER) return 'Eager';
  return mode === MaintenanceMode.MAINTENANCE_MODE_SCHEDULED ? 'Scheduled' : 'Lazy';
}

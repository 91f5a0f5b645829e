/** The components of a cluster over gRPC. */
import { ClusterAdminService, type OwnDescription } from '../../../proto/gen/cairn/admin/v1/admin.ts';
import { ComponentKind as KindMessage, MaintenanceMode } from '../../../proto/gen/cairn/v1/component.ts';
import { EventStoreService } from '../../../proto/gen/cairn/v1/event_store.ts';
import { ChannelClient, failedWith } from './channel.ts';
import type {
  ComponentId,
  ComponentKind,
  Components,
  ComponentVersion,
  Holder,
  Maintenance,
  Publication,
} from './components.ts';
import { changeRequest, presenterRequest, viewRequest } from './publication.ts';

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

export class GrpcComponents extends ChannelClient implements Components {
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

  async holders(): Promise<ReadonlyMap<string, readonly Holder[]>> {
    const { nodes, databases } = await this.channel.call(ClusterAdminService.describeCluster, { isPassedOn: false });
    const holders = new Map(nodes.map(({ node, own }) => [node, holderOf(own)]));
    return new Map(
      databases.map(({ name, nodes: ids }) => [name, ids.map((id) => holders.get(id) ?? holderOf(undefined))]),
    );
  }

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

  async delete({ database: databaseName, kind, name }: ComponentId, version?: number): Promise<void> {
    const request = { databaseName, kind: KINDS[kind], name, version, onlyInactive: version !== undefined };
    await this.channel.call(EventStoreService.deleteComponent, request).catch((error: unknown) => {
      if (!failedWith(error, 'NOT_FOUND')) throw error;
    });
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

/** A node that was not heard counts as one that has compiled nothing. */
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

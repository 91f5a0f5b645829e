/** Requests and replies of the operations that publish components and say what becomes of their versions. */
import type { ComponentKind, DefinedVersion, Definition, Faults, VersionStatus } from '#model';
import type { ReadAt, ReadRequest, ReadScope, RevisionFloor, WriteRequest } from '../operations.ts';

/** What every operation says that changes a definition. */
export interface DefiningRequest extends WriteRequest {
  readonly databaseName: string;
  readonly floor?: RevisionFloor | undefined;
}

export interface PublishComponentRequest extends DefiningRequest {
  /** Undefined: `faults` say why. */
  readonly definition: Definition | undefined;
  /** What the transport has found wrong. */
  readonly faults: Faults;
  readonly component: Uint8Array;
  /** The request's word for the component. */
  readonly componentField: string;
  /** A new version is not active; one that exists keeps its status. */
  readonly isInactive?: boolean | undefined;
  /** The version that it is to be, new or published so before; absent: whichever it becomes. */
  readonly version?: number | undefined;
}

/** A version as it is now; the revision is what this node has applied. */
export interface VersionReply extends ReadScope {
  readonly version: DefinedVersion;
}

export interface PublishComponentReply extends VersionReply {
  /** False: the same kind, name, bytes and metadata were published before. */
  readonly isNew: boolean;
}

/** Names and versions are as they were asked for. */
export interface SetVersionStatusRequest extends DefiningRequest {
  readonly kind: ComponentKind;
  readonly name: string;
  readonly version: number | bigint;
  readonly status: VersionStatus;
}

export interface DeleteVersionsRequest extends DefiningRequest {
  readonly kind: ComponentKind;
  readonly name: string;
  /** Absent: all of the name. */
  readonly version?: number | bigint | undefined;
  /** Refuses to delete an active version. */
  readonly onlyInactive?: boolean | undefined;
}

export interface ExpireSnapshotsRequest extends DefiningRequest {
  readonly name: string;
}

export interface ExpireSnapshotsReply extends ReadScope {
  readonly foldEpoch: number;
}

export interface ListVersionsRequest extends ReadRequest {
  readonly at: ReadAt;
  /** Absent: every kind. */
  readonly kind?: ComponentKind | undefined;
  /** Absent: every name. */
  readonly name?: string | undefined;
}

export interface ListVersionsReply extends ReadScope {
  /** By kind, name and version; also those that are not active. */
  readonly versions: readonly DefinedVersion[];
}

export interface FindVersionRequest extends ReadRequest {
  readonly at: ReadAt;
  readonly kind: ComponentKind;
  readonly name: string;
  readonly version: number | bigint;
}

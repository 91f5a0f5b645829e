/** Requests and replies of the operations that publish components and change their versions. */
import type { ComponentKind, DefinedVersion, Definition, Faults, VersionStatus } from '#model';
import type { ReadAt, ReadRequest, ReadScope, RevisionFloor, WriteRequest } from '../operations.ts';

export interface DefiningRequest extends WriteRequest {
  readonly databaseName: string;
  readonly floor?: RevisionFloor | undefined;
}

export interface PublishComponentRequest extends DefiningRequest {
  /** Undefined when it is invalid; `faults` has the reasons. */
  readonly definition: Definition | undefined;
  /** Faults that the transport has found. */
  readonly faults: Faults;
  readonly component: Uint8Array;
  /** Name of the component in the request, for error messages. */
  readonly componentField: string;
  /** A new version is not active; one that exists keeps its status. */
  readonly isInactive?: boolean | undefined;
  /** Required version number, for a new or a repeated publication; absent: any. */
  readonly version?: number | undefined;
}

/** The current state of a version, and the revision that this node has applied. */
export interface VersionReply extends ReadScope {
  readonly version: DefinedVersion;
}

export interface PublishComponentReply extends VersionReply {
  /** False: the same kind, name, bytes and metadata were published before. */
  readonly isNew: boolean;
}

/** Names and versions are those of the request, not validated yet. */
export interface SetVersionStatusRequest extends DefiningRequest {
  readonly kind: ComponentKind;
  readonly name: string;
  readonly version: number | bigint;
  readonly status: VersionStatus;
}

export interface DeleteVersionsRequest extends DefiningRequest {
  readonly kind: ComponentKind;
  readonly name: string;
  /** Absent: all versions of the name. */
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
  /** Sorted by kind, name and version; includes inactive versions. */
  readonly versions: readonly DefinedVersion[];
}

export interface FindVersionRequest extends ReadRequest {
  readonly kind: ComponentKind;
  readonly name: string;
  readonly version: number | bigint;
}

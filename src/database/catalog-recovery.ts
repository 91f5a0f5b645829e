/**
 * A recovery in entries and rows of the catalog: which group continues as which instance, and from which node.
 */
import {
  DATABASE_ID,
  type DatabaseId,
  type Field,
  type Fields,
  fieldsOf,
  type GroupId,
  type NodeId,
  REVISION,
  type Revision,
} from '#base';
import { GROUP, HASH, NODE } from './catalog-fields.ts';

/** Origin of a recovered instance. */
export interface Recovery {
  /** The instance that had the name before. */
  readonly databaseId: DatabaseId;
  /**
   * The group whose rows on the founder's node it copies: that of the former instance, or the origin of that one if its
   * own recovery is incomplete.
   */
  readonly group: GroupId;
  /** The instance that its history began with: the one before, unless that was recovered, too. */
  readonly rootId: DatabaseId;
  /**
   * Revision of the replica when the recovery was decided. The instance begins here, or later by entries of its log.
   */
  readonly revision: Revision;
  readonly chainHash: Uint8Array;
}

/** The database of this group continues as another instance, with the replica of this node. */
export interface RecoverEntry {
  readonly kind: 'recover';
  readonly group: GroupId;
  readonly databaseId: DatabaseId;
  readonly node: NodeId;
  /** Revision of the replica when the recovery was decided. */
  readonly revision: Revision;
  readonly chainHash: Uint8Array;
}

export const RECOVER_ENTRY: Fields<Omit<RecoverEntry, 'kind'>> = {
  group: GROUP,
  databaseId: DATABASE_ID,
  node: NODE,
  revision: REVISION,
  chainHash: HASH,
};

export const RECOVERY: Field<Recovery> = fieldsOf<Recovery>({
  databaseId: DATABASE_ID,
  group: GROUP,
  rootId: DATABASE_ID,
  revision: REVISION,
  chainHash: HASH,
});

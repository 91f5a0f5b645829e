/** Reasons why requests for a database are relayed to nodes with other replicas. */
import { type DatabaseError, type NodeId, nodeOf, type Revision } from '#base';
import type { Binding } from '#database';
import type { DiskLevel } from '#storage';
import type { Damage } from '../link.ts';
import { historyDiffers, lagsByDisk, notHere, titleOf, withdrawn } from '../refusals.ts';

/** The replica of this node. */
export interface OwnReplica {
  readonly isHere: boolean;
  readonly hasDiverged: boolean;
  /** Its rows are not whole (C43). */
  readonly isWithdrawn: boolean;
  /** Its rows cannot be rebuilt. */
  readonly damage: Damage | undefined;
  /** Revision of another replica that clients of this node were shown, while its own replica lags it (C30). */
  readonly shown: Revision | undefined;
  readonly leader: NodeId | undefined;
  readonly disk: DiskLevel;
}

/** Undefined: the node `self` serves the database. */
export function absenceOf(binding: Binding, self: NodeId, own: OwnReplica): DatabaseError | undefined {
  const { isHere, hasDiverged, isWithdrawn, damage, shown, leader, disk } = own;
  // Below the hard level no entries arrive from the leader (C37).
  const lags = disk === 'read-only' && leader !== undefined && leader !== self;
  if (isHere && !hasDiverged && !isWithdrawn && shown === undefined && !lags) return undefined;
  const title = titleOf(binding.name);
  const holders = { group: binding.group, nodes: binding.replicas.map(nodeOf).filter((node) => node !== self) };
  if (hasDiverged) return historyDiffers(title, holders);
  if (isWithdrawn) return withdrawn(title, holders, damage);
  return isHere && shown === undefined
    ? lagsByDisk(title, holders)
    : notHere(title, holders, isHere ? shown : undefined);
}

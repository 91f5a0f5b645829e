/** A message from one replica of a group to another. */
import type { GroupId } from '#base';
import type { Message, ReplicaId } from '#raft';

export interface Envelope<M extends Message = Message> {
  readonly group: GroupId;
  readonly from: ReplicaId;
  readonly to: ReplicaId;
  readonly message: M;
}

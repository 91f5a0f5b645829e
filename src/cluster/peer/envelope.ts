/** A message of one group on its way from one of its replicas to another. */
import type { GroupId } from '#base';
import type { Message, ReplicaId } from '#raft';

export interface Envelope<M extends Message = Message> {
  readonly group: GroupId;
  readonly from: ReplicaId;
  readonly to: ReplicaId;
  readonly message: M;
}

/** What a replica keeps of who belongs to its group. */
import type { LogIndex } from '#base';
import type { Membership } from '#raft';

/** Who belongs to a group, and where the entry stands that said so; 0 when it is what the group began with. */
export interface HeldMembership {
  readonly index: LogIndex;
  readonly membership: Membership;
}

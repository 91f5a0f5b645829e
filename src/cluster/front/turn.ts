import type { GroupId, Revision } from '#base';
import type { Commands, CreateRequest, DeleteRequest, Proposal, ReadRequest } from '../thread/link.ts';

/** The commands of one turn, as they gather. */
export class Turn implements Commands {
  readonly proposals: Proposal[] = [];
  readonly creates: CreateRequest[] = [];
  readonly deletes: DeleteRequest[] = [];
  readonly reads: ReadRequest[] = [];
  /** Later reads of a group join the one of the same turn, for the message has not left yet. */
  sharedReads: Map<GroupId, Promise<Revision>> | undefined;
  shown = 0;
  follows = false;

  get isEmpty(): boolean {
    return this.proposals.length + this.creates.length + this.deletes.length + this.reads.length + this.shown === 0;
  }
}

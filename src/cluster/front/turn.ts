/** The commands of the front to the core in one turn of the event loop. */
import type { GroupId, Revision } from '#base';
import type { Commands, CreateRequest, Proposal, ReadRequest, Settlement, Token } from '../link.ts';

/** Collects the commands of one turn. */
export class Turn implements Commands {
  readonly proposals: Proposal[] = [];
  readonly creates: CreateRequest[] = [];
  readonly reads: ReadRequest[] = [];
  /** Later reads of a group share the one of the same turn, because the message is not sent yet. */
  sharedReads: Map<GroupId, Promise<Revision>> | undefined;
  shown = 0;
  follows = false;

  get isEmpty(): boolean {
    return this.proposals.length + this.creates.length + this.reads.length + this.shown === 0;
  }
}

/** A request that the core has not answered. */
export interface Pending {
  readonly kind: 'proposal' | 'read';
  readonly startedMs: number;
  readonly settle: (settlement: Settlement) => void;
  readonly onAdmitted?: (() => void) | undefined;
}

/** A request to send, and the conversion of its settlement to an answer. */
export interface Asked<Answer> {
  readonly add: (token: Token) => void;
  readonly answer: (settlement: Settlement) => Answer;
  readonly onAdmitted?: (() => void) | undefined;
}

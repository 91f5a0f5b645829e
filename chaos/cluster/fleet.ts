/**
 * The hosts of a run, which are there from its beginning to its end: those whose node belongs to the cluster, and one
 * that waits until it takes the place of another.
 */
import type { Member } from './member.ts';

export type Members = readonly [Member, ...Member[]];

export class Fleet {
  /** As many as the cluster has when nothing is changed about it. */
  readonly size: number;
  readonly all: readonly Member[];
  #active: Members;

  constructor(founders: Members, spare: Member) {
    this.size = founders.length;
    this.all = [...founders, spare];
    this.#active = founders;
  }

  get active(): Members {
    return this.#active;
  }

  /** The host that has no node now. There is none while one takes the place of another. */
  get spare(): Member | undefined {
    return this.all.find((member) => !this.isActive(member));
  }

  isActive(member: Member): boolean {
    return this.#active.includes(member);
  }

  /** Its node belongs to the cluster from now on. */
  join(member: Member): void {
    this.#active = [...this.#active, member];
  }

  /** Its node does not belong to the cluster any more. */
  leave(member: Member): void {
    const [first, ...others] = this.#active.filter((each) => each !== member);
    if (first === undefined) throw new Error(`${member.name} is the last node of the cluster`);
    this.#active = [first, ...others];
  }
}

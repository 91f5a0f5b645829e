/**
 * The hosts of a run, which exist from its beginning to its end: those whose node belongs to the cluster, and one spare
 * host for the next replacement.
 */
import type { Member } from './member.ts';

export type Members = readonly [Member, ...Member[]];

export class Fleet {
  /** Number of nodes of the cluster when no replacement is in progress. */
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

  /** The host without a node; undefined during a replacement. */
  get spare(): Member | undefined {
    return this.all.find((member) => !this.isActive(member));
  }

  isActive(member: Member): boolean {
    return this.#active.includes(member);
  }

  /** Adds the host's node to the cluster. */
  join(member: Member): void {
    this.#active = [...this.#active, member];
  }

  /** Takes the host's node out of the cluster. */
  leave(member: Member): void {
    const [first, ...others] = this.#active.filter((each) => each !== member);
    if (first === undefined) throw new Error(`${member.name} is the last node of the cluster`);
    this.#active = [first, ...others];
  }
}

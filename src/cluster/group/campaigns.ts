/**
 * What becomes of the attempts of this node to lead its groups, for metrics.
 *
 * ```
 *   pre-candidate ── a majority would vote ──> candidate ── a majority votes ──> leader
 *        │                                        ├─ a majority says no, or somebody else leads: lost
 *        │                                        └─ too few say anything in time: timed out
 *        └─ too few would vote, or say so in time: not held
 * ```
 */
import type { Fact } from '#raft';
import type { Group } from './group.ts';

/** How an attempt ended that did not make this node a leader. */
export type LostCampaign = 'lost' | 'timed_out' | 'not_held';

/** Told apart as objects: a copy that comes later is another one. */
type Campaigning = Pick<Group, 'id'>;

export class Campaigns {
  readonly #ended: (result: LostCampaign) => void;
  /** Groups that this node would lead, and whether it has asked for votes or only who would give theirs. */
  readonly #running = new Map<Campaigning, 'asking' | 'voting'>();

  constructor(ended: (result: LostCampaign) => void) {
    this.#ended = ended;
  }

  /** Takes note of what has happened in a step. */
  note(group: Campaigning, { kind }: Fact): void {
    const running = this.#running.get(group);
    if (kind === 'became-pre-candidate') {
      this.#running.set(group, 'asking');
      if (running !== undefined) this.#ended(running === 'asking' ? 'not_held' : 'timed_out');
    } else if (kind === 'became-candidate') {
      this.#running.set(group, 'voting');
      if (running === 'voting') this.#ended('timed_out');
    } else if (kind === 'became-leader') {
      this.#running.delete(group);
    } else if (kind === 'became-follower' && this.#running.delete(group)) {
      this.#ended(running === 'asking' ? 'not_held' : 'lost');
    }
  }

  forget(group: Campaigning): void {
    this.#running.delete(group);
  }
}

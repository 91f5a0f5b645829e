/**
 * Results of the elections of this node, for metrics.
 *
 * ```
 *   pre-candidate ── a majority would vote ──> candidate ── a majority votes ──> leader
 *        │                                        ├─ a majority refuses, or another node leads: lost
 *        │                                        └─ too few answer in time: timed out
 *        └─ too few would vote, or answer in time: not held
 * ```
 */
import type { Fact } from '#raft';
import type { Group } from './group.ts';

/** Result of an election in which this node did not become leader. */
export type LostCampaign = 'lost' | 'timed_out' | 'not_held';

/** Compared by identity: a later replica of the group is another object. */
type Campaigning = Pick<Group, 'id'>;

export class Campaigns {
  readonly #ended: (result: LostCampaign) => void;
  /** Groups in which this node runs for leader: `asking` during the pre-vote, `voting` during the election. */
  readonly #running = new Map<Campaigning, 'asking' | 'voting'>();

  constructor(ended: (result: LostCampaign) => void) {
    this.#ended = ended;
  }

  /** Records an event of a step. */
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

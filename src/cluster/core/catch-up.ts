/**
 * Whether this node has caught up since its start: every group that it shares with other nodes is applied up to what
 * its leader had committed when it was first heard.
 *
 * This is decided once. A node that lags later forwards its requests and asks leaders as before. No quorum, other node
 * or database keeps a node back for ever: a group whose leader stays silent is waited for `SILENCE_MS`, any group
 * `CATCH_UP_MS`.
 */
import type { LogIndex } from '#base';
import type { Message } from '#raft';
import type { Group } from '../group/group.ts';

/** Several elections. */
const SILENCE_MS = 15_000;
/** A snapshot of a large database may take longer; it does not keep all others from their clients. */
const CATCH_UP_MS = 120_000;

type Watched = Pick<Group, 'isOpen' | 'isAlone' | 'isAtRest' | 'isDiverged' | 'isReady' | 'leader' | 'written'>;

export class CatchUp<G extends Watched = Group> {
  /** What each group is to reach; undefined: its leader was not heard yet. */
  readonly #lacking = new Map<G, LogIndex | undefined>();
  #beganMs = 0;

  /** The node has recovered, and opened these groups. */
  begin(groups: Iterable<G>, nowMs: number): void {
    this.#beganMs = nowMs;
    for (const group of groups) if (!group.isAlone) this.#lacking.set(group, undefined);
  }

  /** The group has taken the message. */
  heard(group: G, { from, message }: { readonly from: G['leader']; readonly message: Message }): void {
    if (this.#lacking.size === 0 || !this.#lacking.has(group) || this.#lacking.get(group) !== undefined) return;
    const { kind } = message;
    if ((kind === 'append' || kind === 'beat' || kind === 'commit') && group.leader === from)
      this.#lacking.set(group, message.commit);
  }

  /** How many groups are still waited for. */
  count(nowMs: number): number {
    const sinceMs = nowMs - this.#beganMs;
    for (const [group, goal] of this.#lacking) if (isDone(group, goal, sinceMs)) this.#lacking.delete(group);
    return this.#lacking.size;
  }
}

function isDone(group: Watched, goal: LogIndex | undefined, sinceMs: number): boolean {
  // A member of a group at rest lacks nothing (C31).
  if (!group.isOpen || group.isDiverged || group.isAtRest || group.isReady) return true;
  return goal === undefined ? sinceMs >= SILENCE_MS : group.written.index >= goal || sinceMs >= CATCH_UP_MS;
}

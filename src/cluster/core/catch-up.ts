/**
 * Determines whether this node has caught up since its start: every shared group has applied what its leader had
 * committed at its first heartbeat. So have the groups that it gets meanwhile, such as all databases of a new learner.
 *
 * This is decided once. A node that lags later forwards its requests and asks leaders as before. No quorum, other node
 * or database blocks a node forever: it waits for a group whose leader is silent for `SILENCE_MS`, and for any group
 * for `CATCH_UP_MS`.
 */
import type { LogIndex } from '#base';
import type { Message } from '#raft';
import type { Group } from '../group/group.ts';

/** Several elections. */
const SILENCE_MS = 15_000;
/** A snapshot of a large database may take longer; it must not keep the node from serving the others. */
const CATCH_UP_MS = 120_000;

type Watched = Pick<Group, 'isOpen' | 'isAlone' | 'isAtRest' | 'isDiverged' | 'isReady' | 'leader' | 'written'>;

export class CatchUp<G extends Watched = Group> {
  /** Index that each group must reach; undefined until its leader has sent a message. */
  readonly #lacking = new Map<G, LogIndex | undefined>();
  #beganMs = 0;

  /** Called when the node has recovered and opened these groups. */
  begin(groups: Iterable<G>, nowMs: number): void {
    this.#beganMs = nowMs;
    for (const group of groups) if (!group.isAlone) this.#lacking.set(group, undefined);
  }

  /** Called when an empty replica has begun. */
  began(group: G): void {
    if (this.#lacking.size > 0) this.#lacking.set(group, undefined);
  }

  /** Called when the group has processed a message. */
  heard(group: G, { from, message }: { readonly from: G['leader']; readonly message: Message }): void {
    if (this.#lacking.size === 0 || !this.#lacking.has(group) || this.#lacking.get(group) !== undefined) return;
    const { kind } = message;
    if ((kind === 'append' || kind === 'beat' || kind === 'commit') && group.leader === from)
      this.#lacking.set(group, message.commit);
  }

  /** Number of groups that have not caught up. */
  count(nowMs: number): number {
    const sinceMs = nowMs - this.#beganMs;
    for (const [group, goal] of this.#lacking) if (isDone(group, goal, sinceMs)) this.#lacking.delete(group);
    return this.#lacking.size;
  }
}

function isDone(group: Watched, goal: LogIndex | undefined, sinceMs: number): boolean {
  // A member of a group at rest lacks no entries (C31).
  if (!group.isOpen || group.isDiverged || group.isAtRest || group.isReady) return true;
  return goal === undefined ? sinceMs >= SILENCE_MS : group.written.index >= goal || sinceMs >= CATCH_UP_MS;
}

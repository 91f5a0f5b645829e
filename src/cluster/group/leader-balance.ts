/**
 * Balances leaderships: chooses the preferred leader of each database, and transfers the leadership to it. The replicas
 * take turns, a different one first for each database. The choice depends only on the catalog, so all nodes agree
 * without counting, and creating or deleting a database changes nothing for others.
 *
 * A transfer delays writes briefly, so a leader transfers a database only when the preferred leader has been ready for
 * `leaderRestMs`: one busy database at a time, and up to `idleTransfersMax` idle ones.
 *
 * There may be thousands of databases, so a changed leader does not cause a check of all of them.
 */
import { CATALOG_GROUP, type GroupId, type NodeId, nodeOf, type ReplicaId } from '#base';
import { changeInTheWay, type Fact, type Input, isVoter, memberStateOf } from '#raft';
import type { CoreLimits } from '../limits.ts';
import type { CatalogMachine } from '../machine.ts';
import type { Binding, RegisteredNode } from '../outcome.ts';
import type { Group } from './group.ts';

/** The replicas of a database in order of preference, a different one first for each group. */
export function inTurn(replicas: readonly ReplicaId[], group: GroupId): readonly ReplicaId[] {
  const ordered = replicas.toSorted((one, other) => one - other);
  const first = group % Math.max(1, ordered.length);
  return [...ordered.slice(first), ...ordered.slice(0, first)];
}

/** The preferred leader of the database; undefined while it moves, or when all of its nodes leave. */
export function preferredLeader(binding: Binding, active: ReadonlySet<NodeId>): ReplicaId | undefined {
  if (!binding.isSettled) return undefined;
  const staying = binding.replicas.filter((replica) => active.has(nodeOf(replica)));
  return inTurn(staying, binding.group)[0];
}

/** A group that this node leads and another one should. */
interface Misplaced {
  readonly to: ReplicaId;
  /** Time since which that replica has been ready to lead; undefined: it is not. */
  sinceMs: number | undefined;
}

export interface LeaderBalancePorts {
  readonly catalog: () => Pick<CatalogMachine, 'nodes' | 'bindingOf'>;
  /** The groups that this node leads. */
  readonly led: () => Iterable<Group>;
  readonly limits: CoreLimits;
  /** Returns whether a node should lead nothing that others can: it drains, or refuses writes. */
  readonly isUnfit: (node: NodeId) => boolean;
  readonly step: (group: Group, input: Input) => void;
}

export class LeaderBalance {
  readonly #ports: LeaderBalancePorts;
  readonly #misplaced = new Map<Group, Misplaced>();
  /** Groups whose leader, members or replicas have changed since the last check. */
  #changed = new Set<Group>();
  /** True when nodes were added or leave since then, which may change every preferred leader. */
  #haveNodesChanged = true;
  #lookMs = 0;

  constructor(ports: LeaderBalancePorts) {
    this.#ports = ports;
  }

  /** Records an event of a step. */
  note(group: Group, { kind }: Fact): void {
    if (kind === 'became-leader' || kind === 'became-follower' || kind === 'membership-changed') this.review(group);
  }

  /** The preferred leader of the group may have changed. */
  review(group: Group): void {
    this.#changed.add(group);
  }

  /** Nodes were added, or leave. */
  reviewAll(): void {
    this.#haveNodesChanged = true;
  }

  forget(group: Group): void {
    this.#changed.delete(group);
    this.#misplaced.delete(group);
  }

  /** Transfers databases whose preferred leader has been ready for long. */
  drive(nowMs: number): void {
    const { leaderLookMs, leaderRestMs, idleTransfersMax } = this.#ports.limits;
    if (nowMs < this.#lookMs) return;
    this.#lookMs = nowMs + leaderLookMs;
    this.#look();
    const room = { idle: idleTransfersMax, busy: 1 };
    const due: Group[] = [];
    for (const [group, misplaced] of this.#misplaced) {
      const isFit = isReady(group, misplaced.to, nowMs) && !this.#ports.isUnfit(nodeOf(misplaced.to));
      misplaced.sinceMs = isFit ? (misplaced.sinceMs ?? nowMs) : undefined;
      if (misplaced.sinceMs === undefined || nowMs < misplaced.sinceMs + leaderRestMs) continue;
      const kind = group.isAtRest ? 'idle' : 'busy';
      if (room[kind] === 0) continue;
      room[kind] -= 1;
      // After a failed attempt the wait starts again.
      misplaced.sinceMs = nowMs;
      due.push(group);
    }
    for (const group of due) this.#transfer(group);
  }

  #transfer(group: Group): void {
    const misplaced = this.#misplaced.get(group);
    if (misplaced !== undefined) this.#ports.step(group, { kind: 'transfer-leadership', to: misplaced.to });
  }

  #look(): void {
    const { led, catalog } = this.#ports;
    const groups = this.#haveNodesChanged ? [...led(), ...this.#changed] : this.#changed;
    if (!this.#haveNodesChanged && this.#changed.size === 0) return;
    this.#haveNodesChanged = false;
    this.#changed = new Set();
    const active = new Set(
      catalog()
        .nodes()
        .filter(isActive)
        .map(({ node }) => node),
    );
    for (const group of groups) {
      const to = this.#otherLeader(group, active);
      if (to === undefined) this.#misplaced.delete(group);
      else if (this.#misplaced.get(group)?.to !== to) this.#misplaced.set(group, { to, sinceMs: undefined });
    }
  }

  /** The other preferred leader of a group that this node leads, if there is one. */
  #otherLeader({ id, self, leads, isAlone }: Group, active: ReadonlySet<NodeId>): ReplicaId | undefined {
    if (!leads || isAlone || id === CATALOG_GROUP) return undefined;
    const binding = this.#ports.catalog().bindingOf(id);
    const preferred = binding && preferredLeader(binding, active);
    return preferred === self ? undefined : preferred;
  }
}

function isReady(group: Group, to: ReplicaId, nowMs: number): boolean {
  const { timeless } = group;
  if (!isVoter(timeless.membership.voters, to) || changeInTheWay(timeless) !== undefined) return false;
  // All members of a group at rest answer and do not lag, which needs no settled times (C31).
  return group.isAtRest || memberStateOf(group.raft, to, nowMs) === 'ready';
}

function isActive({ state }: RegisteredNode): boolean {
  return state === 'active';
}

/**
 * Who should lead a database, and how its lead gets there: of those who hold it, taken in order, another one for each
 * database. That follows from the catalog alone, so all agree on it and nobody has to count; and a database that comes
 * or goes changes nothing for the others.
 *
 * Nothing hurries, for a transfer holds writers up for a moment: whoever leads a database hands it over when the other
 * has been ready for it for long, one database at a time; of those in which nothing happens, some more.
 *
 * There may be thousands of databases. So nobody looks at all of them again when one of them gets another leader.
 */
import { CATALOG_GROUP, type GroupId, type NodeId, nodeOf, type ReplicaId } from '#base';
import { changeInTheWay, type Fact, type Input, isVoter, standingOf } from '#raft';
import type { CoreLimits } from '../limits.ts';
import type { CatalogMachine } from '../machine.ts';
import type { Binding, RegisteredNode } from '../outcome.ts';
import type { Group } from './group.ts';

/** Those who hold a database, in the order in which they should lead it: another one is the first for each. */
export function inTurn(replicas: readonly ReplicaId[], group: GroupId): readonly ReplicaId[] {
  const ordered = replicas.toSorted((one, other) => one - other);
  const first = group % Math.max(1, ordered.length);
  return [...ordered.slice(first), ...ordered.slice(0, first)];
}

/** The replica that should lead the database; undefined while it moves, or when nobody who holds it stays. */
export function preferredLeader(binding: Binding, active: ReadonlySet<NodeId>): ReplicaId | undefined {
  if (!binding.isSettled) return undefined;
  const staying = binding.replicas.filter((replica) => active.has(nodeOf(replica)));
  return inTurn(staying, binding.group)[0];
}

/** What this node leads and another one should. */
interface Misplaced {
  readonly to: ReplicaId;
  /** Since when that one has been ready to lead; undefined: it is not. */
  sinceMs: number | undefined;
}

export interface LeaderBalancePorts {
  readonly catalog: () => Pick<CatalogMachine, 'nodes' | 'bindingOf'>;
  /** The groups that this node leads. */
  readonly led: () => Iterable<Group>;
  readonly limits: CoreLimits;
  /** Whether a node is to lead nothing that others could: it is about to end, or has no room. */
  readonly isUnfit: (node: NodeId) => boolean;
  readonly step: (group: Group, input: Input) => void;
}

export class LeaderBalance {
  readonly #ports: LeaderBalancePorts;
  readonly #misplaced = new Map<Group, Misplaced>();
  /** What has another leader, other members or other holders since the last look. */
  #changed = new Set<Group>();
  /** Whether nodes have come or are to go since then: others may be meant to lead whatever this node leads. */
  #haveNodesChanged = true;
  #lookMs = 0;

  constructor(ports: LeaderBalancePorts) {
    this.#ports = ports;
  }

  /** Takes note of what has happened in a step. */
  note(group: Group, { kind }: Fact): void {
    if (kind === 'became-leader' || kind === 'became-follower' || kind === 'membership-changed') this.review(group);
  }

  /** Another one may be meant to lead the group than before. */
  review(group: Group): void {
    this.#changed.add(group);
  }

  /** Nodes have come, or are to go. */
  reviewAll(): void {
    this.#haveNodesChanged = true;
  }

  forget(group: Group): void {
    this.#changed.delete(group);
    this.#misplaced.delete(group);
  }

  /** Hands databases over that other nodes have been ready to lead for long, if there are any. */
  drive(nowMs: number): void {
    const { leaderLookMs, leaderRestMs, idleHandOvers } = this.#ports.limits;
    if (nowMs < this.#lookMs) return;
    this.#lookMs = nowMs + leaderLookMs;
    this.#look();
    const room = { idle: idleHandOvers, busy: 1 };
    const due: Group[] = [];
    for (const [group, misplaced] of this.#misplaced) {
      const isFit = isReady(group, misplaced.to, nowMs) && !this.#ports.isUnfit(nodeOf(misplaced.to));
      misplaced.sinceMs = isFit ? (misplaced.sinceMs ?? nowMs) : undefined;
      if (misplaced.sinceMs === undefined || nowMs < misplaced.sinceMs + leaderRestMs) continue;
      const kind = group.isAtRest ? 'idle' : 'busy';
      if (room[kind] === 0) continue;
      room[kind] -= 1;
      // One that is tried in vain has to wait as long again.
      misplaced.sinceMs = nowMs;
      due.push(group);
    }
    for (const group of due) this.#handOver(group);
  }

  #handOver(group: Group): void {
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

  /** Who else should lead a group that this node leads, if anybody. */
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
  // All members of a group at rest answer and lack nothing; its times need not be set to see that (C31).
  return group.isAtRest || standingOf(group.raft, to, nowMs) === 'ready';
}

function isActive({ state }: RegisteredNode): boolean {
  return state === 'active';
}

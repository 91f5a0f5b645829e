/**
 * Who should lead a database, and how its lead gets there: of those who hold it, taken in order, another one for each
 * database. That follows from the catalog alone, so all agree on it and nobody has to count; and a database that comes
 * or goes changes nothing for the others.
 *
 * Nothing hurries, for a transfer holds writers up for a moment: whoever leads a database hands it over when the other
 * has been ready for it for long, one database at a time.
 */
import { CATALOG_GROUP, type NodeId, nodeOf, type ReplicaId } from '#base';
import { changeInTheWay, type Input, isVoter, standingOf } from '#raft';
import type { Group } from './group.ts';
import type { CoreLimits } from './limits.ts';
import type { CatalogMachine } from './machine.ts';
import type { Binding, RegisteredNode } from './outcome.ts';

/** The replica that should lead the database; undefined while it moves, or when nobody who holds it stays. */
export function preferredLeader(binding: Binding, active: ReadonlySet<NodeId>): ReplicaId | undefined {
  if (!binding.isSettled) return undefined;
  const staying = binding.replicas.filter((replica) => active.has(nodeOf(replica)));
  return staying.toSorted((one, other) => one - other)[binding.group % Math.max(1, staying.length)];
}

interface Misplaced {
  readonly group: Group;
  readonly to: ReplicaId;
}

export interface LeaderBalancePorts {
  readonly catalog: () => CatalogMachine;
  readonly groups: () => Iterable<Group>;
  /** Another number whenever somebody leads, follows or has other members than before. */
  readonly leadsVersion: () => number;
  readonly limits: CoreLimits;
  readonly step: (group: Group, input: Input) => void;
}

export class LeaderBalance {
  readonly #ports: LeaderBalancePorts;
  /** Since when others have been ready to lead what this node leads. */
  #ready: ReadonlyMap<Group, number> = new Map();
  #lookMs = 0;
  /** What this node leads and another one should, and as of when. */
  #misplaced: readonly Misplaced[] = [];
  #seen = { leads: -1, catalog: -1 };

  constructor(ports: LeaderBalancePorts) {
    this.#ports = ports;
  }

  /** Hands one database over, if there is one that another node has been ready to lead for long. */
  drive(nowMs: number): void {
    const { leaderLookMs, leaderRestMs } = this.#ports.limits;
    if (nowMs < this.#lookMs) return;
    this.#lookMs = nowMs + leaderLookMs;
    const ready = new Map<Group, number>();
    let next: { readonly group: Group; readonly to: ReplicaId } | undefined;
    this.#look();
    for (const { group, to } of this.#misplaced) {
      if (!isReady(group, to, nowMs)) continue;
      const sinceMs = this.#ready.get(group) ?? nowMs;
      const isDue = next === undefined && nowMs >= sinceMs + leaderRestMs;
      if (isDue) next = { group, to };
      // One that is tried in vain has to wait as long again.
      ready.set(group, isDue ? nowMs : sinceMs);
    }
    this.#ready = ready;
    if (next !== undefined) this.#ports.step(next.group, { kind: 'transfer-leadership', to: next.to });
  }

  /** There may be thousands of groups, and mostly nothing has changed for any of them. */
  #look(): void {
    const seen = { leads: this.#ports.leadsVersion(), catalog: this.#ports.catalog().applied.index };
    if (seen.leads === this.#seen.leads && seen.catalog === this.#seen.catalog) return;
    this.#seen = seen;
    this.#misplaced = this.#findMisplaced();
  }

  #findMisplaced(): readonly Misplaced[] {
    const { catalog, groups } = this.#ports;
    const led = [...groups()].filter(({ id, leads, isAlone }) => leads && !isAlone && id !== CATALOG_GROUP);
    if (led.length === 0) return [];
    const nodes = catalog().nodes();
    const active = new Set(nodes.filter(isActive).map(({ node }) => node));
    return led.flatMap((group) => {
      const binding = catalog().bindingOf(group.id);
      const to = binding && preferredLeader(binding, active);
      return to === undefined || to === group.self ? [] : [{ group, to }];
    });
  }
}

function isReady({ raft }: Group, to: ReplicaId, nowMs: number): boolean {
  if (!isVoter(raft.membership.voters, to) || changeInTheWay(raft) !== undefined) return false;
  return standingOf(raft, to, nowMs) === 'ready';
}

function isActive({ state }: RegisteredNode): boolean {
  return state === 'active';
}

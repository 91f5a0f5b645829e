// Exhaustive search of the production core in a small scope: every order of every event of a few replicas
// (search-moves.ts), within bounds. It visits and checks each state of the whole group once, breadth first.
//
// The scope excludes time (heartbeats, deadlines, check-quorum), pre-votes, reads, transfers, and compaction with
// snapshots; entries are applied and storage answers immediately. The random schedules cover those. With prompt disks,
// writes also complete immediately, which makes the scope smaller, so that more terms can be searched completely.
//
// Two states with equal keys (keys.ts) are the same. The part of the history that no later step can be checked against
// is removed first (`remembering` in search-moves.ts). The search omits nothing else.
import { assert, BrokenInvariant } from '#base';
import { type Config, membershipOf, REPLICATION, type ReplicaId, toReplicaId } from '#raft';
import { checkGroup } from './group-invariants.ts';
import { Keys } from './keys.ts';
import { type Bounds, type Move, movesFrom, type State, settled } from './search-moves.ts';
import { type Core, worldOf } from './world.ts';

/** Limits for one path. */
export interface Scope extends Bounds {
  readonly voters: number;
  /** Replicas that are initially learners. */
  readonly learners: number;
  readonly crashes: number;
  /**
   * Number of messages of a path that may be late: they arrive at any time, repeatedly, or never. All others arrive
   * immediately.
   */
  readonly late: number;
  /** Number of states after which the search stops without being complete. */
  readonly statesMax: number;
}

export interface Found {
  readonly states: number;
  /** Number of steps taken. */
  readonly moves: number;
  /** All states within this number of moves were visited. */
  readonly depth: number;
  /** States that were found but not expanded. */
  readonly open: number;
  /** A shortest path to a broken invariant, as a schedule for `replay`. */
  readonly broken: { readonly message: string; readonly path: readonly string[] } | undefined;
}

export interface Options {
  readonly core?: Core;
  /** Receives the figures of each completed depth. */
  readonly report?: (found: Found) => void;
}

/** Searches the scope with the production core, or with another one. */
export function search(scope: Scope, { core, report }: Options = {}): Found {
  return new Search(scope, core).run(report);
}

/** Runs a schedule that a search has printed. Returns the broken invariant, or undefined. */
export function replay(scope: Scope, schedule: readonly string[], core?: Core): string | undefined {
  const keys = new Keys();
  let here = beginning(scope, core);
  for (const line of schedule) {
    const move = movesFrom(here, scope).find(({ label }) => label() === line);
    assert(move !== undefined, 'A schedule continues with a move that there is', line);
    const next = follow(move, scope, keys);
    if (typeof next === 'string') return next;
    here = next;
  }
  return undefined;
}

class Search {
  readonly #scope: Scope;
  readonly #first: State;
  readonly #keys = new Keys();
  readonly #seen = new Set<string>();
  /** For each state by number: the previous state, and the index of the move from there. */
  readonly #ways: (readonly [before: number, move: number])[] = [];
  #moves = 0;

  constructor(scope: Scope, core: Core | undefined) {
    this.#scope = scope;
    this.#first = beginning(scope, core);
  }

  run(report: Options['report']): Found {
    let level = [this.#first];
    this.#isNew(this.#first, [0, 0]);
    let expanded = 0;
    for (let depth = 0; level.length > 0; depth += 1) {
      const next: State[] = [];
      for (const state of level) {
        const broken = this.#expand(state, expanded, next);
        if (broken !== undefined) return { ...this.#found(depth, expanded), broken };
        expanded += 1;
        if (this.#seen.size >= this.#scope.statesMax) return this.#found(depth, expanded);
      }
      level = next;
      report?.(this.#found(depth + 1, expanded));
    }
    return this.#found(0, expanded);
  }

  #found(depth: number, expanded: number): Found {
    const states = this.#seen.size;
    return { states, moves: this.#moves, depth, open: states - expanded, broken: undefined };
  }

  /** Adds the new states that are one move away. */
  #expand(from: State, number: number, into: State[]): Found['broken'] {
    for (const [at, move] of movesFrom(from, this.#scope).entries()) {
      this.#moves += 1;
      const next = follow(move, this.#scope, this.#keys);
      if (typeof next === 'string') return { message: next, path: [...this.#pathTo(number), move.label()] };
      if (this.#isNew(next, [number, at])) into.push(next);
    }
    return undefined;
  }

  #isNew({ world, left }: State, way: readonly [number, number]): boolean {
    const count = this.#seen.size;
    if (this.#seen.add(this.#keys.of(world, left)).size === count) return false;
    this.#ways.push(way);
    return true;
  }

  #pathTo(state: number): readonly string[] {
    const taken: number[] = [];
    for (let at = state; at > 0; ) {
      const [before, move] = this.#ways[at] ?? [0, 0];
      taken.unshift(move);
      at = before;
    }
    let here = this.#first;
    return taken.map((at) => {
      const move = movesFrom(here, this.#scope)[at];
      const next = move === undefined ? undefined : follow(move, this.#scope, this.#keys);
      assert(move !== undefined && typeof next === 'object', 'A way that was found can be taken again', next);
      here = next;
      return move.label();
    });
  }
}

/** The state after a move, or the invariant that it breaks. */
function follow({ go, left }: Move, scope: Scope, keys: Keys): State | string {
  try {
    const world = settled(go(), keys, { ...scope, crashes: left.crashes });
    checkGroup(world);
    return { world, left };
  } catch (error) {
    if (error instanceof BrokenInvariant) return error.message;
    throw error;
  }
}

function beginning({ voters, learners, proposals, crashes, change, late }: Scope, core?: Core): State {
  const ids = Array.from({ length: voters + learners }, (_, at) => toReplicaId(at + 1));
  const membership = membershipOf(ids.slice(0, voters), ids.slice(voters));
  const world = worldOf(
    ids.map((self) => ({ config: configOf(self), membership })),
    core,
  );
  const left = { proposals, crashes, changes: change === undefined ? 0 : 1, late };
  return { world: { ...world, due: [] }, left };
}

function configOf(self: ReplicaId): Config {
  const bounds = { electionWindowMs: 1000, electionJitterMs: 0, uncommittedBytesMax: 100, pendingReadsMax: 1 };
  return { self, ...bounds, replication: { ...REPLICATION, retainedBytesMax: 0 } };
}

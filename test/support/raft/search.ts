/**
 * Exhaustive search of the shipped core in a small scope: every order of everything that can happen to a few replicas
 * (search-moves.ts), within bounds, each state of the whole group visited once and checked, breadth first.
 *
 * Left out of the scope: time (beats, deadlines, check-quorum), pre-votes, reads, transfers, compaction and so
 * snapshots; entries are applied, and storage answers, as soon as they can. Those are for the random schedules.
 *
 * Reductions, none of which hides a state but one that another state stands for:
 *   inert messages are forgotten   search-moves.ts says why they are
 *   symmetry                       Two worlds that differ in who is who are one (state-key.ts). No action is left out.
 *                                  The core knows a replica only by comparing its id with others, so that renaming
 *                                  the replicas of a world renames what comes of each step, if the renaming keeps the
 *                                  membership. One place reads the order of ids: to whom a leader that was removed
 *                                  hands over. So nobody is renamed in a scope with a change.
 *
 * Worlds are not kept. A state is its key, its predecessor and the number of its move, and its world is made again by
 * its moves. States of one depth are expanded in the order in which they were found, so that neighbours share nearly
 * their whole way, and what is shared is made once.
 */
import { assert, BrokenInvariant } from '#base';
import { type Config, membershipOf, REPLICATION, type ReplicaId, type Target, toReplicaId } from '#raft';
import { checkGroup } from './group-invariants.ts';
import { type Left, type Move, movesFrom, settled } from './search-moves.ts';
import { Keys, type Permutation } from './state-key.ts';
import { KeySet, Ways } from './visited.ts';
import { type Core, type World, worldOf } from './world.ts';

/** How much of everything may happen on one path. */
export interface Scope {
  readonly voters: number;
  /** Replicas that are learners in the beginning. */
  readonly learners: number;
  readonly terms: number;
  readonly proposals: number;
  readonly crashes: number;
  /** What the group may be asked to become, once. */
  readonly change: Target | undefined;
  /** States after which the search ends without having seen everything. */
  readonly statesMax: number;
}

export interface Found {
  readonly states: number;
  /** Steps that were taken to find them. */
  readonly moves: number;
  /** Every state that so many moves lead to was seen. */
  readonly depth: number;
  /** States that were found and not expanded: what is behind them was not seen. */
  readonly open: number;
  readonly isComplete: boolean;
  /** One of the shortest ways to a broken invariant, as a schedule for `replay`. */
  readonly broken: { readonly message: string; readonly path: readonly string[] } | undefined;
}

interface Place {
  readonly world: World;
  readonly left: Left;
}

/** Searches the scope with the shipped core, or with another one; `report` hears of each depth that is done. */
export function search(scope: Scope, core?: Core, report?: (found: Found) => void): Found {
  return new Search(scope, core).run(report);
}

/** Follows a schedule that a search has printed. Answers what it breaks, undefined when it breaks nothing. */
export function replay(scope: Scope, schedule: readonly string[], core?: Core): string | undefined {
  const keys = new Keys([identity(scope)]);
  let place = beginning(scope, core);
  for (const line of schedule) {
    const move = movesFrom(place.world, place.left, scope).find(({ label }) => label() === line);
    assert(move !== undefined, 'A schedule goes on with a move that there is', line);
    const next = follow(place, move, { keys, scope });
    if (typeof next === 'string') return next;
    const broken = brokenIn(next.world);
    if (broken !== undefined) return broken;
    place = next;
  }
  return undefined;
}

/** The renamings under which a group of this scope behaves alike; the first changes nothing. */
export function renamings(scope: Scope): readonly Permutation[] {
  const { voters, learners, change } = scope;
  if (change !== undefined) return [identity(scope)];
  const names = identity(scope).slice(1);
  return permutations(names.slice(0, voters)).flatMap((first) =>
    permutations(names.slice(voters, voters + learners)).map((second) => [0, ...first, ...second]),
  );
}

class Search {
  readonly #scope: Scope;
  readonly #keys: Keys;
  readonly #seen = new KeySet();
  readonly #ways = new Ways();
  /** At n the place and number of the state that was made last at depth n. */
  readonly #made: { readonly state: number; readonly place: Place }[] = [];
  #moves = 0;

  constructor(scope: Scope, core: Core | undefined) {
    this.#scope = scope;
    this.#keys = new Keys(renamings(scope));
    const place = beginning(scope, core);
    this.#seen.add(this.#keyOf(place));
    this.#ways.add(0, 0);
    this.#made.push({ state: 0, place });
  }

  run(report: ((found: Found) => void) | undefined): Found {
    let from = 0;
    for (let depth = 0; ; depth += 1) {
      const to = this.#seen.size;
      if (from === to) return this.#found(depth - 1, from);
      for (let state = from; state < to; state += 1) {
        const broken = this.#expand(state, depth);
        if (broken !== undefined) return { ...this.#found(depth, state), broken };
        if (this.#seen.size >= this.#scope.statesMax) return this.#found(depth, state + 1);
      }
      from = to;
      report?.(this.#found(depth + 1, from));
    }
  }

  #found(depth: number, expanded: number): Found {
    const states = this.#seen.size;
    const open = states - expanded;
    return { states, moves: this.#moves, depth, open, isComplete: open === 0, broken: undefined };
  }

  /** Visits what one move leads to. */
  #expand(state: number, depth: number): Found['broken'] {
    const place = this.#make(state, depth);
    for (const [at, move] of movesFrom(place.world, place.left, this.#scope).entries()) {
      this.#moves += 1;
      const next = follow(place, move, { keys: this.#keys, scope: this.#scope });
      if (typeof next === 'string') return this.#brokenBy(state, depth, { move, message: next });
      if (!this.#seen.add(this.#keyOf(next))) continue;
      this.#ways.add(state, at);
      const message = brokenIn(next.world);
      if (message !== undefined) return this.#brokenBy(state, depth, { move, message });
    }
    return undefined;
  }

  #keyOf({ world, left }: Place): ReturnType<Keys['of']> {
    return this.#keys.of(world, [left.proposals, left.crashes, left.changes]);
  }

  /** The world of a state, from the last one on its way that is still there. */
  #make(state: number, depth: number): Place {
    const way = [state];
    for (let at = state; this.#made[depth - way.length + 1]?.state !== at; way.push(at)) at = this.#ways.before(at);
    const shared = this.#made[depth - way.length + 1];
    assert(shared !== undefined, 'All ways begin in the beginning', state);
    let { place } = shared;
    for (let left = way.length - 2; left >= 0; left -= 1) {
      const next = way[left] ?? state;
      const move = movesFrom(place.world, place.left, this.#scope)[this.#ways.move(next)];
      assert(move !== undefined, 'A way that was found can be gone again', next);
      const made = follow(place, move, { keys: this.#keys, scope: this.#scope });
      assert(typeof made !== 'string', 'A way that broke nothing breaks nothing', made);
      place = made;
      this.#made[depth - left] = { state: next, place };
    }
    return place;
  }

  #brokenBy(
    state: number,
    depth: number,
    { move, message }: { readonly move: Move; readonly message: string },
  ): NonNullable<Found['broken']> {
    this.#make(state, depth);
    const path = this.#made.slice(0, depth).map(({ place }, at) => {
      const taken = this.#ways.move(this.#made[at + 1]?.state ?? 0);
      return movesFrom(place.world, place.left, this.#scope)[taken]?.label() ?? '';
    });
    return { message, path: [...path, move.label()] };
  }
}

/** The next place, or what the move breaks. */
function follow(
  { world }: Place,
  { left, go }: Move,
  { keys, scope }: { readonly keys: Keys; readonly scope: Scope },
): Place | string {
  try {
    return { world: settled(go(), world.network, keys, scope.terms), left };
  } catch (error) {
    if (error instanceof BrokenInvariant) return error.message;
    throw error;
  }
}

function brokenIn(world: World): string | undefined {
  try {
    checkGroup(world);
    return undefined;
  } catch (error) {
    if (error instanceof BrokenInvariant) return error.message;
    throw error;
  }
}

function beginning({ voters, learners, proposals, crashes, change }: Scope, core: Core | undefined): Place {
  const ids = Array.from({ length: voters + learners }, (_, at) => toReplicaId(at + 1));
  const membership = membershipOf(ids.slice(0, voters), ids.slice(voters));
  const world = worldOf(
    ids.map((self) => ({ config: configOf(self), membership })),
    core,
  );
  return { world, left: { proposals, crashes, changes: change === undefined ? 0 : 1 } };
}

function configOf(self: ReplicaId): Config {
  const bounds = { electionWindowMs: 1000, electionJitterMs: 0, uncommittedBytesMax: 100, pendingReadsMax: 1 };
  return { self, ...bounds, replication: { ...REPLICATION, retainedBytesMax: 0 } };
}

function identity({ voters, learners }: Scope): Permutation {
  return Array.from({ length: voters + learners + 1 }, (_, id) => id);
}

function permutations(names: readonly number[]): readonly Permutation[] {
  if (names.length === 0) return [[]];
  return names.flatMap((first, at) => permutations(names.toSpliced(at, 1)).map((rest) => [first, ...rest]));
}

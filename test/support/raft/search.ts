/**
 * Exhaustive search of the shipped core in a small scope: every order of everything that can happen to a few replicas
 * (search-moves.ts), within bounds, each state of the whole group visited once and checked, breadth first.
 *
 * Left out of the scope: time (beats, deadlines, check-quorum), pre-votes, reads, transfers, compaction and so
 * snapshots; entries are applied, and storage answers, as soon as they can. Those are for the random schedules. With
 * prompt disks writes complete at once, too: no reduction, but a smaller scope, of which more terms can be seen whole.
 *
 * Reductions, none of which hides a state but one that another state stands for. search-reductions.test.ts holds each
 * against a search without it.
 *   messages    Those that can change nothing any more are forgotten, and so is what of the history nothing can be held
 *               against any more (inert.ts). No message is where they are due: to bring about at once what another
 *               that was sent before may bring about later is something else there.
 *   symmetry    Two worlds that differ in who is who are one (keys.ts). No action is left out. The core knows a replica
 *               only by comparing its id with others, so that renaming the replicas of a world renames what comes of
 *               each step, if the renaming keeps the membership. One place reads the order of ids: to whom a leader
 *               that was removed hands over. So nobody is renamed in a scope with a change; nor where messages arrive
 *               in the order in which they were sent, which is that of ids when one replica sends to several.
 *
 * What makes it fast is not a reduction: each state of a single replica, each message and each history is a number,
 * what a move does to them is run by the core once, checked once and then looked up (local-steps.ts), and a key is
 * made from the one before it (keys.ts).
 *
 * States are not kept. A state is its key, its predecessor and the number of its move, and it is made again by its
 * moves. States of one depth are expanded in the order in which they were found, so that neighbours share nearly
 * their whole way, and what is shared is made once.
 */
import { assert, BrokenInvariant } from '#base';
import { type Config, membershipOf, REPLICATION, type ReplicaId, type Target, toReplicaId } from '#raft';
import { checkGroup } from './group-invariants.ts';
import { Keys, type Permutation, Tables } from './keys.ts';
import { LocalSteps } from './local-steps.ts';
import { Groups, kept, type Place, Places, type Reductions } from './places.ts';
import { type Disks, type Left, movesFrom, settled } from './search-moves.ts';
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
  readonly disks: Disks;
  /**
   * How many messages of a path may be late, so that they arrive at any time, again and again, or never; all others
   * arrive at once. Undefined: any number.
   */
  readonly late: number | undefined;
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

export interface Options {
  readonly core?: Core;
  /** Hears of each depth that is done. */
  readonly report?: (found: Found) => void;
  /** All of them, unless it is said otherwise. */
  readonly reductions?: Reductions;
  /** Sees each state that is expanded. */
  readonly visit?: Visit;
}

export type Visit = (world: World, left: Left) => void;

export const EVERY_REDUCTION: Reductions = { symmetry: true, messages: true };

/** Searches the scope with the shipped core, or with another one. */
export function search(scope: Scope, { core, report, visit, reductions = EVERY_REDUCTION }: Options = {}): Found {
  return new Search(scope, core, reductions).run(report, visit);
}

/** Follows a schedule that a search has printed. Answers what it breaks, undefined when it breaks nothing. */
export function replay(scope: Scope, schedule: readonly string[], core?: Core): string | undefined {
  const keys = new Keys([identity(scope)]);
  let { world, left } = beginning(scope, core);
  try {
    for (const line of schedule) {
      const move = movesFrom(world, left, scope).find(({ label }) => label() === line);
      assert(move !== undefined, 'A schedule goes on with a move that there is', line);
      left = move.left;
      world = settled(move.go(), keys, { ...scope, crashes: left.crashes });
      checkGroup(world);
    }
    return undefined;
  } catch (error) {
    if (error instanceof BrokenInvariant) return error.message;
    throw error;
  }
}

/** The renamings under which a group of this scope behaves alike; the first changes nothing. */
export function renamings(scope: Scope): readonly Permutation[] {
  const { voters, learners, change, late } = scope;
  if (change !== undefined || late !== undefined) return [identity(scope)];
  const names = identity(scope).slice(1);
  return permutations(names.slice(0, voters)).flatMap((first) =>
    permutations(names.slice(voters, voters + learners)).map((second) => [0, ...first, ...second]),
  );
}

class Search {
  readonly #scope: Scope;
  readonly #seen = new KeySet();
  readonly #ways = new Ways();
  readonly #places: Places;
  readonly #groups: Groups;
  readonly #key = new Uint32Array(2);
  /** At n the place and number of the state that was made last at depth n. */
  readonly #made: { readonly state: number; readonly place: Place }[] = [];
  #moves = 0;

  constructor(scope: Scope, core: Core | undefined, reductions: Reductions) {
    this.#scope = scope;
    const { world, left } = beginning(scope, core);
    const tables = new Tables(reductions.symmetry ? renamings(scope) : [identity(scope)]);
    const steps = new LocalSteps(world.core, scope, tables);
    this.#places = new Places(scope, tables, steps, reductions);
    this.#groups = new Groups(world, tables);
    const place = this.#places.first(world, left);
    this.#isNew(place);
    this.#ways.add(0, 0);
    this.#made.push({ state: 0, place });
  }

  run(report: ((found: Found) => void) | undefined, visit: Visit | undefined): Found {
    let from = 0;
    for (let depth = 0; ; depth += 1) {
      const to = this.#seen.size;
      if (from === to) return this.#found(depth - 1, from);
      for (let state = from; state < to; state += 1) {
        const place = this.#make(state, depth);
        visit?.(this.#groups.worldOf(place), place.left);
        const broken = this.#expand(state, depth, place);
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
  #expand(state: number, depth: number, place: Place): Found['broken'] {
    const count = this.#places.countFrom(place);
    for (let at = 0; at < count; at += 1) {
      this.#moves += 1;
      const next = this.#places.follow(place, at);
      if (next === undefined) continue;
      if (typeof next === 'string') return this.#brokenBy(state, depth, { at, message: next });
      if (!this.#isNew(next)) continue;
      this.#ways.add(state, at);
      const message = this.#groups.brokenIn(next);
      if (message !== undefined) return this.#brokenBy(state, depth, { at, message });
    }
    return undefined;
  }

  #isNew(place: Place): boolean {
    this.#places.keyInto(this.#key, place);
    return this.#seen.add(this.#key[0] ?? 0, this.#key[1] ?? 0);
  }

  /** The place of a state, from the last one on its way that is still there. */
  #make(state: number, depth: number): Place {
    const way = [state];
    for (let at = state; this.#made[depth - way.length + 1]?.state !== at; way.push(at)) at = this.#ways.before(at);
    const shared = this.#made[depth - way.length + 1];
    assert(shared !== undefined, 'All ways begin in the beginning', state);
    let { place } = shared;
    for (let left = way.length - 2; left >= 0; left -= 1) {
      const next = way[left] ?? state;
      const made = this.#places.follow(place, this.#ways.move(next));
      assert(typeof made === 'object', 'A way that was found can be gone again', next);
      place = kept(made);
      this.#made[depth - left] = { state: next, place };
    }
    return place;
  }

  #brokenBy(
    state: number,
    depth: number,
    { at, message }: { readonly at: number; readonly message: string },
  ): NonNullable<Found['broken']> {
    const last = this.#make(state, depth);
    const path = this.#made
      .slice(0, depth)
      .map(({ place }, taken) => this.#places.labelOf(place, this.#ways.move(this.#made[taken + 1]?.state ?? 0)));
    return { message, path: [...path, this.#places.labelOf(last, at)] };
  }
}

export function beginning(
  { voters, learners, proposals, crashes, change, late }: Scope,
  core?: Core,
): { readonly world: World; readonly left: Left } {
  const ids = Array.from({ length: voters + learners }, (_, at) => toReplicaId(at + 1));
  const membership = membershipOf(ids.slice(0, voters), ids.slice(voters));
  const world = worldOf(
    ids.map((self) => ({ config: configOf(self), membership })),
    core,
  );
  const left = { proposals, crashes, changes: change === undefined ? 0 : 1, late: late ?? 0 };
  return { world: { ...world, due: late === undefined ? undefined : [] }, left };
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

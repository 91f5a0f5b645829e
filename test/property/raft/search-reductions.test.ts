// Goal: no reduction of the search hides anything. Method: small scopes are searched with and without them and lead the
// replicas to the same states; the places of the search are held against whole worlds.

import { describe, expect, it } from 'vitest';
import { toReplicaId } from '#raft';
import { Keys } from '../../support/raft/keys.ts';
import type { Reductions } from '../../support/raft/places.ts';
import { beginning, EVERY_REDUCTION, renamings, type Scope, search } from '../../support/raft/search.ts';

import { type Left, movesFrom, settled } from '../../support/raft/search-moves.ts';
import { NOTHING_YET, type World } from '../../support/raft/world.ts';
import { IS_LONG } from '../../support/runs.ts';

const BASE: Scope = {
  voters: 3,
  learners: 0,
  terms: 1,
  proposals: 0,
  crashes: 0,
  change: undefined,
  disks: 'any',
  late: undefined,
  statesMax: 1_000_000,
};
const CHANGE = { voters: [1, 2].map(toReplicaId), learners: [] };
const ALONE = { voters: [toReplicaId(1)], learners: [] };
/** The gate takes the first of them. */
const GATE_SCOPES = 4;
const SMALL: readonly (readonly [string, Scope])[] = [
  ['two voters, one term, a proposal and a crash', { ...BASE, voters: 2, proposals: 1, crashes: 1 }],
  ['two voters that become one', { ...BASE, voters: 2, change: ALONE }],
  ['two voters and two terms', { ...BASE, voters: 2, terms: 2 }],
  [
    'two voters that become one, with a crash, a message late',
    { ...BASE, voters: 2, crashes: 1, change: ALONE, late: 1 },
  ],
  ['two voters that become one, with a crash', { ...BASE, voters: 2, crashes: 1, change: ALONE }],
  ['two voters that become one, in two terms', { ...BASE, voters: 2, terms: 2, change: ALONE }],
  ['a learner that becomes a voter, in two terms', { ...BASE, voters: 1, learners: 1, terms: 2, change: CHANGE }],
  ['three voters and one term', BASE],
  [
    'two voters, two terms and a crash, with prompt disks',
    { ...BASE, voters: 2, terms: 2, crashes: 1, disks: 'prompt' },
  ],
  ['three voters and two terms, two messages late, with prompt disks', { ...BASE, terms: 2, disks: 'prompt', late: 2 }],
];
const SCOPES = IS_LONG ? SMALL : SMALL.slice(0, GATE_SCOPES);
const OTHERS: readonly Reductions[] = [
  { symmetry: true, messages: false },
  { symmetry: false, messages: true },
  EVERY_REDUCTION,
];

describe('a search with reductions', () => {
  it.each(SCOPES)('leads the replicas to the same states as one without, in %s', { timeout: 60_000 }, (_, scope) => {
    const all = statesOf(scope, { symmetry: false, messages: false });
    expect(all.size).toBeGreaterThan(10);
    for (const reductions of OTHERS) expect(statesOf(scope, reductions)).toEqual(all);
  });

  it.each(SCOPES)('finds as many states as one over whole worlds, in %s', { timeout: 60_000 }, (_, scope) => {
    expect(search(scope).states).toBe(countWorlds(scope));
  });
});

/** What the replicas come to, whoever is who. */
function statesOf(scope: Scope, reductions: Reductions): ReadonlySet<string> {
  const keys = new Keys(renamings(scope));
  const states = new Set<string>();
  let last = 0;
  const visit = (world: World, left: Left): void => {
    const { high, low } = keys.of({ ...world, network: [], due: [], history: NOTHING_YET }, everyBudget(left));
    states.add(`${high} ${low}`);
    last = Math.max(last, ...Array.from(world.replicas.values(), ({ state }) => state?.hardState.term ?? 0));
  };
  expect(search(scope, { reductions, visit }).isComplete).toBe(true);
  // What is forgotten because no later term comes rests on this.
  expect(last).toBe(scope.terms);
  return states;
}

function everyBudget({ proposals, crashes, changes, late }: Left): readonly number[] {
  return [proposals, crashes, changes, late];
}

/** The search that the other one is a faster form of. */
function countWorlds(scope: Scope): number {
  const keys = new Keys(renamings(scope));
  const seen = new Set<string>();
  const isNew = (world: World, left: Left): boolean => {
    const { high, low } = keys.of(world, everyBudget(left));
    return seen.size < seen.add(`${high} ${low}`).size;
  };
  const start = beginning(scope);
  isNew(start.world, start.left);
  const open = [start];
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    for (const { left, go } of movesFrom(place.world, place.left, scope)) {
      const world = settled(go(), keys, { ...scope, crashes: left.crashes });
      if (isNew(world, left)) open.push({ world, left });
    }
  }
  return seen.size;
}

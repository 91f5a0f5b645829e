// Goal: no reduction of the search hides anything. Method: small scopes are searched with and without them and lead the
// replicas to the same states; the places of the search are held against whole worlds; and along random walks in the
// largest scope, in which nothing is forgotten, whatever a rule would have forgotten changes nothing and never will.

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { assert, toLogIndex, toTerm } from '#base';
import { type Entry, membershipOf, ORIGIN, toReplicaId } from '#raft';
import type { Fate, Horizon } from '../../support/raft/inert.ts';
import { noticeOf } from '../../support/raft/inert.ts';
import { Keys } from '../../support/raft/keys.ts';
import type { Reductions } from '../../support/raft/places.ts';
import { beginning, EVERY_REDUCTION, renamings, type Scope, search } from '../../support/raft/search.ts';
import { calmed, fateIn, type Left, movesFrom, settled, unforgetting } from '../../support/raft/search-moves.ts';
import { configOf } from '../../support/raft/words.ts';
import { deliver, type Envelope, give, NOTHING_YET, type World, worldOf, write } from '../../support/raft/world.ts';
import { runs } from '../../support/runs.ts';

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
const SMALL: readonly (readonly [string, Scope])[] = [
  ['two voters, one term, a proposal and a crash', { ...BASE, voters: 2, proposals: 1, crashes: 1 }],
  ['two voters and two terms', { ...BASE, voters: 2, terms: 2 }],
  ['two voters that become one', { ...BASE, voters: 2, change: ALONE }],
  ['two voters that become one, with a crash', { ...BASE, voters: 2, crashes: 1, change: ALONE }],
  ['two voters that become one, in two terms', { ...BASE, voters: 2, terms: 2, change: ALONE }],
  ['a learner that becomes a voter, in two terms', { ...BASE, voters: 1, learners: 1, terms: 2, change: CHANGE }],
  ['three voters and one term', BASE],
  [
    'two voters, two terms and a crash, with prompt disks',
    { ...BASE, voters: 2, terms: 2, crashes: 1, disks: 'prompt' },
  ],
  ['three voters and two terms, two messages late, with prompt disks', { ...BASE, terms: 2, disks: 'prompt', late: 2 }],
  [
    'two voters that become one, with a crash, a message late',
    { ...BASE, voters: 2, crashes: 1, change: ALONE, late: 1 },
  ],
];
const LARGE: Scope = { ...BASE, terms: 3, proposals: 3, crashes: 1, change: CHANGE };
const PLAIN: Scope = { ...LARGE, change: undefined };
const OTHERS: readonly Reductions[] = [
  { symmetry: true, messages: false },
  { symmetry: false, messages: true },
  EVERY_REDUCTION,
];

describe('a search with reductions', () => {
  it.each(SMALL)('leads the replicas to the same states as one without, in %s', { timeout: 60_000 }, (_, scope) => {
    const all = statesOf(scope, { symmetry: false, messages: false });
    expect(all.size).toBeGreaterThan(10);
    for (const reductions of OTHERS) expect(statesOf(scope, reductions)).toEqual(all);
  });

  it.each(SMALL)('finds as many states as one over whole worlds, in %s', { timeout: 60_000 }, (_, scope) => {
    expect(search(scope).states).toBe(countWorlds(scope));
  });

  it('comes with prompt disks only to states that it comes to with any', { timeout: 60_000 }, () => {
    const scope: Scope = { ...BASE, voters: 2, crashes: 1, change: ALONE };
    const all = statesOf(scope, EVERY_REDUCTION);
    const prompt = statesOf({ ...scope, disks: 'prompt' }, EVERY_REDUCTION);
    expect(prompt.size).toBeGreaterThan(10);
    expect(prompt.size).toBeLessThan(all.size);
    expect([...prompt].filter((state) => !all.has(state))).toEqual([]);
  });

  it('comes with few late messages only to states that it comes to with any', { timeout: 60_000 }, () => {
    const scope: Scope = { ...BASE, voters: 2, crashes: 1, change: ALONE };
    const all = statesOf(scope, EVERY_REDUCTION, withoutLate);
    const counts = [0, 1, 2].map((late) => {
      const some = statesOf({ ...scope, late }, EVERY_REDUCTION, withoutLate);
      expect([...some].filter((state) => !all.has(state))).toEqual([]);
      return some.size;
    });
    expect(counts).toEqual([...new Set([...counts, all.size])].toSorted((one, other) => one - other).slice(0, 3));
  });

  it('forgets a vote that is counted, but not while another membership may count it again', () => {
    const [first, second] = [entryOf(1), entryOf(2)];
    expect(fateOfCounted([first, second])).toBe('forgotten');
    expect(fateOfCounted([first, { ...second, membership: membershipOf(ALONE.voters) }])).toBe('kept');
  });

  it('forgets only what changes nothing, now or later', { timeout: 60_000 }, () => {
    const walk = fc.array(fc.nat(), { minLength: 100, maxLength: 100 });
    let forgotten = 0;
    const scope = fc.constantFrom(LARGE, { ...LARGE, crashes: 0 }, { ...BASE, voters: 2, change: ALONE }, PLAIN);
    fc.assert(
      fc.property(scope, walk, (bounds, picks) => {
        forgotten += walked(bounds, picks);
      }),
      { numRuns: runs(30) },
    );
    expect(forgotten).toBeGreaterThan(100);
  });
});

function entryOf(index: number): Entry {
  return { index: toLogIndex(index), term: toTerm(1), payload: new Uint8Array(0) };
}

/** What becomes of a refusal that a candidate with this log has counted. */
function fateOfCounted(entries: readonly Entry[]): Fate {
  const ids = [1, 2, 3].map(toReplicaId);
  const hardState = { term: toTerm(1), vote: undefined };
  const membership = membershipOf(ids);
  const configured = ids.map((self) => ({ config: configOf(self, new Map()), membership, hardState, entries }));
  const [candidate, voter] = ids;
  assert(candidate !== undefined && voter !== undefined, 'There are two');
  const order = { kind: 'receive', from: voter, message: { kind: 'timeout-now', term: toTerm(1) } } as const;
  const campaigned = write(give(worldOf(configured), candidate, order).world, candidate).world;
  const message = { kind: 'vote-reply', term: toTerm(2), isGranted: false, commit: ORIGIN } as const;
  const envelope: Envelope = { from: voter, to: candidate, message };
  const counted = deliver({ ...campaigned, network: [envelope] }, 0).world;
  return fateIn(counted, envelope, { terms: 2, crashes: 0 });
}

/** What the replicas come to, whoever is who. */
function statesOf(scope: Scope, reductions: Reductions, budget = everyBudget): ReadonlySet<string> {
  const keys = new Keys(renamings(scope));
  const states = new Set<string>();
  let last = 0;
  const visit = (world: World, left: Left): void => {
    const { high, low } = keys.of({ ...world, network: [], due: [], history: NOTHING_YET }, budget(left));
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

function withoutLate({ proposals, crashes, changes }: Left): readonly number[] {
  return [proposals, crashes, changes];
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

/** Goes one way in which nothing is forgotten; answers how often something would have been. */
function walked(scope: Scope, picks: readonly number[]): number {
  const keys = new Keys(renamings(scope).slice(0, 1));
  const gone = new Map<number, Envelope>();
  let { world, left } = beginning(scope);
  let count = 0;
  for (const pick of picks) {
    const moves = movesFrom(world, left, scope);
    const move = moves[pick % moves.length];
    if (move === undefined) return count;
    left = move.left;
    world = unforgetting(move.go(), keys, scope);
    const horizon = { terms: scope.terms, crashes: left.crashes };
    for (const envelope of gone.values())
      expect([envelope, fateIn(world, envelope, horizon)]).toEqual([envelope, 'forgotten']);
    for (const [at, envelope] of world.network.entries()) {
      const fate = fateIn(world, envelope, horizon);
      if (fate === 'kept') continue;
      count += 1;
      if (fate === 'forgotten') gone.set(keys.ofEnvelope(envelope), envelope);
      const arrived = calmed(deliver(world, at, true).world, scope);
      expect(newIn(arrived, world, { keys, horizon, scope })).toEqual(
        fate === 'notice' ? newByNotice(world, envelope, { keys, horizon, scope }) : [],
      );
      expect(partsOf(arrived, keys)).toEqual(partsOf(world, keys));
    }
  }
  return count;
}

interface Eye {
  readonly keys: Keys;
  readonly horizon: Horizon;
  readonly scope: Scope;
}

/** What was sent and can still do something. */
function newIn(after: World, before: World, { keys, horizon }: Eye): readonly number[] {
  const known = new Set(before.network.map((each) => keys.ofEnvelope(each)));
  const sent = after.network.filter((each) => fateIn(after, each, horizon) !== 'forgotten');
  return sent.map((each) => keys.ofEnvelope(each)).filter((each) => !known.has(each));
}

function newByNotice(world: World, envelope: Envelope, eye: Eye): readonly number[] {
  const noticed = { ...world, network: [...world.network, noticeOf(envelope)] };
  return newIn(calmed(deliver(noticed, world.network.length, true).world, eye.scope), noticed, eye);
}

function partsOf(world: World, keys: Keys): unknown {
  return keys.of({ ...world, network: [], history: NOTHING_YET }, []);
}

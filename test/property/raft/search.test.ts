// Goal: in small scopes nothing violates an invariant of #raft or of the group. Method: small scopes searched
// completely, the first states of larger ones (npm run search continues), and broken cores, which the search must
// detect.
import { expect, it } from 'vitest';
import { toTerm } from '#base';
import { membershipOf, ORIGIN, toReplicaId } from '#raft';
import {
  acknowledgesEarly,
  acknowledgesUnverified,
  asksOneHalf,
  changesEarly,
  commitsBeforeItsDisk,
  commitsEarlierTerms,
  votesEarly,
  votesForAnyLog,
  votesTwice,
} from '../../support/raft/broken-cores.ts';
import { Keys } from '../../support/raft/keys.ts';
import { replay, type Scope, search } from '../../support/raft/search.ts';
import { configOf, parseEntries } from '../../support/raft/words.ts';
import { type Core, give, type World, worldOf } from '../../support/raft/world.ts';
import { IS_LONG } from '../../support/runs.ts';

const BASE: Scope = {
  voters: 3,
  learners: 0,
  terms: 1,
  proposals: 0,
  crashes: 0,
  change: undefined,
  disks: 'any',
  late: 1,
  statesMax: 300_000,
};
const IDS = [1, 2, 3].map(toReplicaId);
const ALONE = { voters: IDS.slice(0, 1), learners: [] };
const CHANGE = { voters: IDS.slice(0, 2), learners: [] };
/** The combination of all other scopes. */
const EVERYTHING: Scope = { ...BASE, terms: 3, proposals: 3, crashes: 1, change: CHANGE, disks: 'prompt' };

const WHOLE: readonly (readonly [string, Scope])[] = [
  ['one voter, three terms and proposals, two crashes', { ...BASE, voters: 1, terms: 3, proposals: 3, crashes: 2 }],
  ['everything at once, with prompt disks and no message late', { ...EVERYTHING, late: 0 }],
  ['two voters, one term, a proposal, a crash, two late', { ...BASE, voters: 2, proposals: 1, crashes: 1, late: 2 }],
  ['two voters that become one in two terms, a message late', { ...BASE, voters: 2, terms: 2, change: ALONE }],
  [
    'three voters, two terms and a proposal, with prompt disks, two messages late',
    { ...BASE, terms: 2, proposals: 1, disks: 'prompt', late: 2 },
  ],
];
/** `npm run test:all` searches these completely, too. */
const LARGE: typeof WHOLE = [
  ['three voters that become two, a message late', { ...BASE, change: CHANGE }],
  ['everything at once in two terms with one proposal, a message late', { ...EVERYTHING, terms: 2, proposals: 1 }],
];

const PART: typeof WHOLE = [
  ['three terms, three proposals and a crash', { ...EVERYTHING, disks: 'any', change: undefined, statesMax: 20_000 }],
  ['three terms, three proposals, a crash and a change', { ...EVERYTHING, disks: 'any', late: 2, statesMax: 20_000 }],
];

const BROKEN: readonly (readonly [string, Core, Scope, string])[] = [
  ['sends a vote before it is on disk', votesEarly, BASE, 'R9'],
  ['votes for every candidate', votesTwice, BASE, 'R7'],
  ['acknowledges entries before they are on disk', acknowledgesEarly, BASE, 'G5'],
  ['acknowledges the unverified', acknowledgesUnverified, { ...BASE, voters: 2, proposals: 1, crashes: 1 }, 'R10'],
  ['votes for any log', votesForAnyLog, { ...BASE, terms: 2, disks: 'prompt' }, 'G6'],
  ['counts entries before its own disk has them', commitsBeforeItsDisk, BASE, 'G5'],
  ['commits an entry of an earlier term', commitsEarlierTerms, { ...BASE, voters: 2, terms: 2 }, 'R4'],
  ['changes members before it has committed in its term', changesEarly, { ...BASE, change: CHANGE }, 'R11'],
  ['asks one half only during a change', asksOneHalf, { ...BASE, voters: 2, terms: 2, change: ALONE }, 'R11'],
];

it.each(IS_LONG ? [...WHOLE, ...LARGE] : WHOLE)(
  'search finds nothing broken in any state of %s',
  { timeout: 60_000 },
  (_, scope) => {
    const found = search(scope);
    expect(found.broken).toBeUndefined();
    expect(found.open).toBe(0);
  },
);

it.each(PART)('search finds nothing broken in the first states of %s', (_, scope) => {
  const found = search(scope);
  expect(found.broken).toBeUndefined();
  expect(found.states).toBeGreaterThanOrEqual(scope.statesMax);
});

it.each(BROKEN)('search finds a core that %s by a way that can be taken again', (_, core, scope, invariant) => {
  const { broken } = search(scope, { core });
  expect(broken?.message).toContain(invariant);
  expect(replay(scope, broken?.path ?? [], core)).toBe(broken?.message);
});

it('equal worlds have the same key, and different worlds do not', () => {
  const keys = new Keys();
  const made = (letter: string): World => {
    const past = { hardState: { term: toTerm(1), vote: undefined }, entries: parseEntries(ORIGIN, `1:${letter}`) };
    const members = { membership: membershipOf(IDS), ...past };
    return worldOf(IDS.map((self) => ({ config: configOf(self, new Map()), ...members })));
  };
  const key = keys.of(made('a'), { late: 1 });
  expect(keys.of(made('a'), { late: 1 })).toBe(key);
  expect(keys.of(made('a'), { late: 0 })).not.toBe(key);
  expect(keys.of(made('b'), { late: 1 })).not.toBe(key);
  const campaigned = IDS.map((id) => keys.of(give(made('a'), id, { kind: 'campaign' }).world, { late: 1 }));
  expect(new Set([key, ...campaigned]).size).toBe(1 + IDS.length);
});

/** Tests RaftWatch: it detects each violated invariant of Raft when only that one is violated. */
import { expect, it } from 'vitest';
import { RaftWatch, type SaidMessage } from './invariants/raft-watch.ts';

const BEAT: SaidMessage = {
  group: 1,
  from: 1,
  to: 2,
  kind: 'beat',
  term: 5,
  isGranted: false,
  previous: undefined,
  entries: [],
};
const OTHER_LEADER = { ...BEAT, from: 2, to: 1 };
const VOTE: SaidMessage = { ...BEAT, kind: 'vote-reply', isGranted: true };

const append = (digest: number): SaidMessage => ({
  ...BEAT,
  kind: 'append',
  entries: [{ index: 3, term: digest === 2 ? 5 : 4, digest }],
});

interface Applied {
  readonly by: string;
  readonly term: number;
}

const one = (term: number): Applied => ({ by: 'node-1', term });

it.each<[what: string, faults: readonly string[], happened: readonly (SaidMessage | Applied)[]]>([
  [
    'nothing wrong with one leader, and another one in the next term',
    [],
    [BEAT, { ...OTHER_LEADER, term: 6 }, { ...OTHER_LEADER, group: 2 }],
  ],
  ['two leaders of a term', ['I1'], [BEAT, OTHER_LEADER]],
  ['two votes in a term', ['I2'], [VOTE, { ...VOTE, to: 3 }]],
  [
    'a vote for itself and for another',
    ['I2'],
    [
      { ...BEAT, kind: 'vote-request' },
      { ...VOTE, to: 3 },
    ],
  ],
  ['two entries at one place of one term', ['I3'], [append(1), append(3)]],
  ['replicas that apply different entries', ['I4'], [one(4), { by: 'node-2', term: 5 }]],
  ['a leader that lacks what was applied before', ['I5'], [one(4), append(2)]],
  ['nothing wrong with an old leader that still says what it had', [], [one(6), append(2)]],
])('RaftWatch finds %s', (_what, expected, happened) => {
  const faults: string[] = [];
  const watch = new RaftWatch((fault) => faults.push(fault.slice(0, 2)));
  for (const each of happened) {
    if ('by' in each) watch.applied(1, { index: 3, term: each.term, digest: 1 }, each.by);
    else watch.said(each);
  }
  expect(faults).toEqual(expected);
});

it.each([
  ['a heartbeat', BEAT, ['I11']],
  ['a vote', VOTE, ['I11']],
  ['a request for votes', { ...BEAT, kind: 'pre-vote-request' }, ['I11']],
  ['an answer to a heartbeat', { ...BEAT, kind: 'beat-ack' }, []],
  ['a refused vote', { ...VOTE, isGranted: false }, []],
])('RaftWatch sees whether a learner may say this: %s', (_what, message, expected) => {
  const faults: string[] = [];
  const watch = new RaftWatch((fault) => faults.push(fault.slice(0, 3)));
  watch.learners.add(4);
  watch.said({ ...message, from: 4 * 2 ** 20 });
  watch.said({ ...message, from: 5 * 2 ** 20, group: 2 });
  expect(faults).toEqual(expected);
});

/** What nodes say to each other is held against the invariants of Raft: each is noticed when it alone is broken. */
import { describe, expect, it } from 'vitest';
import { RaftWatch, type SaidMessage } from './invariants/raft-watch.ts';

describe('RaftWatch', () => {
  const faultsOf = (watching: (watch: RaftWatch) => void): readonly string[] => {
    const faults: string[] = [];
    watching(new RaftWatch((fault) => faults.push(fault.slice(0, 2))));
    return faults;
  };
  const beat: SaidMessage = {
    group: 1,
    from: 1,
    to: 2,
    kind: 'beat',
    term: 5,
    isGranted: false,
    previous: undefined,
    entries: [],
  };
  const append = (
    term: number,
    index: number,
    entry: { readonly term: number; readonly digest: number },
  ): SaidMessage => ({
    ...beat,
    kind: 'append',
    term,
    entries: [{ index, ...entry }],
  });

  it.each<[string, readonly string[], (watch: RaftWatch) => void]>([
    [
      'nothing wrong with one leader, and another one in the next term',
      [],
      (watch) => {
        watch.said(beat);
        watch.said({ ...beat, from: 2, to: 1, term: 6 });
        watch.said({ ...beat, group: 2, from: 2, to: 1 });
      },
    ],
    [
      'two leaders of a term',
      ['I1'],
      (watch) => {
        watch.said(beat);
        watch.said({ ...beat, from: 2, to: 1 });
      },
    ],
    [
      'two votes in a term',
      ['I2'],
      (watch) => {
        watch.said({ ...beat, kind: 'vote-reply', isGranted: true });
        watch.said({ ...beat, kind: 'vote-reply', isGranted: true, to: 3 });
      },
    ],
    [
      'a vote for itself and for another',
      ['I2'],
      (watch) => {
        watch.said({ ...beat, kind: 'vote-request' });
        watch.said({ ...beat, kind: 'vote-reply', isGranted: true, to: 3 });
      },
    ],
    [
      'two entries at one place of one term',
      ['I3'],
      (watch) => {
        watch.said(append(5, 3, { term: 4, digest: 1 }));
        watch.said(append(5, 3, { term: 4, digest: 2 }));
      },
    ],
    [
      'replicas that apply different entries',
      ['I4'],
      (watch) => {
        watch.applied(1, { index: 3, term: 4, digest: 1 }, 'node-1');
        watch.applied(1, { index: 3, term: 5, digest: 1 }, 'node-2');
      },
    ],
    [
      'a leader that lacks what was applied before',
      ['I5'],
      (watch) => {
        watch.applied(1, { index: 3, term: 4, digest: 1 }, 'node-1');
        watch.said(append(5, 3, { term: 5, digest: 2 }));
      },
    ],
    [
      'nothing wrong with an old leader that still says what it had',
      [],
      (watch) => {
        watch.applied(1, { index: 3, term: 6, digest: 1 }, 'node-1');
        watch.said(append(5, 3, { term: 5, digest: 2 }));
      },
    ],
  ])('finds %s', (_what, expected, watching) => {
    expect(faultsOf(watching)).toEqual(expected);
  });
});

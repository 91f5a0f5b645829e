// Goal: quorum arithmetic matches its definition, including joint sets. Method: a brute-force comparison with every
// subset of the voters.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { type LogIndex, toLogIndex } from '#base';
import { isVoter, members, quorumIndex, type ReplicaId, toReplicaId, type VoterSet, voteResult } from '#raft';

const IDS = [1, 2, 3, 4, 5, 6, 7].map(toReplicaId);
const half = (minLength: number) => fc.subarray(IDS, { minLength, maxLength: 5 });
const voters: fc.Arbitrary<VoterSet> = fc.record({ incoming: half(1), outgoing: fc.oneof(fc.constant([]), half(1)) });

function isQuorum(set: VoterSet, replicas: ReadonlySet<ReplicaId>): boolean {
  return [set.incoming, set.outgoing].every((group) => {
    const present = group.filter((replica) => replicas.has(replica)).length;
    return group.length === 0 || 2 * present > group.length;
  });
}

function subsets(replicas: readonly ReplicaId[]): readonly ReadonlySet<ReplicaId>[] {
  return Array.from(
    { length: 2 ** replicas.length },
    (_, mask) => new Set(replicas.filter((_replica, at) => ((mask >> at) & 1) === 1)),
  );
}

it('quorumIndex (R4) is the highest index that some quorum has reached', () => {
  fc.assert(
    fc.property(voters, fc.array(fc.nat(20), { minLength: 7, maxLength: 7 }), (set, reached) => {
      const matchOf = (replica: ReplicaId): LogIndex => toLogIndex(reached[IDS.indexOf(replica)] ?? 0);
      const quorums = subsets(members(set)).filter((each) => isQuorum(set, each));
      const best = Math.max(...quorums.map((each) => Math.min(...[...each].map(matchOf))));
      expect(quorumIndex(set, matchOf)).toBe(best);
    }),
  );
});

it('an election is won when the granted are a quorum, lost when no answer could make them one', () => {
  const answers = fc.array(fc.constantFrom(true, false, undefined), { minLength: 7, maxLength: 7 });
  fc.assert(
    fc.property(voters, answers, (set, given) => {
      const voteOf = (replica: ReplicaId): boolean | undefined => given[IDS.indexOf(replica)];
      const granted = new Set(members(set).filter((replica) => voteOf(replica) === true));
      const possible = new Set(members(set).filter((replica) => voteOf(replica) !== false));
      const pending = isQuorum(set, possible) ? 'pending' : 'lost';
      expect(voteResult(set, voteOf)).toBe(isQuorum(set, granted) ? 'won' : pending);
    }),
  );
});

it('members names each voter of either half once', () => {
  fc.assert(
    fc.property(voters, (set) => {
      const named = members(set);
      expect(new Set(named).size).toBe(named.length);
      expect(IDS.filter((replica) => named.includes(replica))).toEqual(IDS.filter((each) => isVoter(set, each)));
    }),
  );
});

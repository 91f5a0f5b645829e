// Goal: there are steps from every membership to every other, none of which loses a quorum (C13). Method: every
// membership, leader, target and state of four replicas; walks to the end.
import { describe, expect, it } from 'vitest';
import type { ReplicaId } from '#base';
import { isAt, isVoter, type MemberState, type Membership, membershipOf, type Target, toReplicaId } from '#raft';
import { type MembershipView, planMembership } from '../../../../src/cluster/placement/membership-plan.ts';

const IDS = [1, 2, 3, 4].map(toReplicaId);
const STATES: readonly MemberState[] = ['silent', 'behind', 'ready'];

/** All assignments of the parts to the ids. */
function shares<Part>(parts: readonly Part[], ids = IDS): readonly ReadonlyMap<ReplicaId, Part>[] {
  let all: ReadonlyMap<ReplicaId, Part>[] = [new Map()];
  for (const id of ids) all = all.flatMap((some) => parts.map((part) => new Map(some).set(id, part)));
  return all;
}

const TARGETS: readonly Target[] = shares(['voter', 'learner', 'none'] as const)
  .map((parts) => ({
    voters: IDS.filter((id) => parts.get(id) === 'voter'),
    learners: IDS.filter((id) => parts.get(id) === 'learner'),
  }))
  .filter(({ voters }) => voters.length > 0);

const EVERYBODY: ReadonlyMap<ReplicaId, MemberState> = new Map(IDS.map((id) => [id, 'ready']));

function viewOf(target: Target, self: ReplicaId, states: MembershipView['states'] = EVERYBODY): MembershipView {
  return { self, membership: membershipOf(target.voters, target.learners), isBusy: false, states };
}

function targetOf({ voters, learners }: Membership): Target {
  return { voters: voters.incoming, learners };
}

function fault({ self, membership, states }: MembershipView, target: Target): string | undefined {
  const next = planMembership({ self, membership, isBusy: false, states }, target);
  const now = targetOf(membership);
  const state = (id: ReplicaId): MemberState => (id === self ? 'ready' : (states.get(id) ?? 'silent'));
  if (next.kind === 'done') return isAt(membership, target) ? undefined : 'it is not there';
  if (next.kind === 'wait') return next.for.length > 0 ? undefined : 'it waits for nobody';
  if (next.kind === 'transfer') {
    const isRight = next.to.every(
      (id) => target.voters.includes(id) && now.voters.includes(id) && state(id) === 'ready',
    );
    return isRight && !target.voters.includes(self) ? undefined : 'it hands over to the wrong ones';
  }
  const { voters } = next.target;
  if (isAt(membership, next.target)) return 'it changes nothing';
  if (!voters.includes(self)) return 'the leader is no voter of it';
  const entrants = voters.filter((id) => !now.voters.includes(id));
  if (entrants.some((id) => !now.learners.includes(id) || state(id) !== 'ready')) return 'a voter was no ready learner';
  const isSameVoters = entrants.length === 0 && voters.length === now.voters.length;
  if (!isSameVoters && 2 * voters.filter((id) => state(id) === 'silent').length >= voters.length) return 'no quorum';
  if (!isSameVoters && target.voters.some((id) => !voters.includes(id))) return 'somebody left before all had come';
  return undefined;
}

/** Number of steps to the target when all replicas answer, or a description of where they end. */
function walk(from: Target, first: ReplicaId, target: Target): number | string {
  let self = first;
  let membership = membershipOf(from.voters, from.learners);
  for (let length = 0; length < 10; length += 1) {
    const next = planMembership({ self, membership, isBusy: false, states: EVERYBODY }, target);
    if (next.kind === 'done') return length;
    if (next.kind === 'transfer') self = next.to[length % next.to.length] ?? self;
    if (next.kind === 'change') membership = membershipOf(next.target.voters, next.target.learners);
    if (next.kind === 'wait' || !isVoter(membership.voters, self)) break;
  }
  return JSON.stringify([from, first, target]);
}

describe('the plan for a membership (C13)', () => {
  it('is safe in every step, for all memberships and targets', () => {
    const faults = new Set<string | undefined>();
    let count = 0;
    for (const from of TARGETS) {
      for (const self of from.voters) {
        const others = [...from.voters, ...from.learners].filter((id) => id !== self);
        for (const states of shares(STATES, others)) {
          for (const target of TARGETS) {
            faults.add(fault(viewOf(from, self, states), target));
            count += 1;
          }
        }
      }
    }
    expect([...faults]).toEqual([undefined]);
    expect(count).toBeGreaterThan(50_000);
  });

  it('reaches every target from every membership when all replicas answer', () => {
    const lengths = new Set<number | string>();
    for (const from of TARGETS) {
      for (const self of from.voters) for (const target of TARGETS) lengths.add(walk(from, self, target));
    }
    // Most steps: learners, all members, leadership transfer, target.
    expect(lengths).toEqual(new Set([0, 1, 2, 3, 4]));
  });

  // Replicas 1, 2 and 3 are voters, and 1 is the leader. Wanted replicas that are not voters are learners. Others do
  // not answer.
  it.each<readonly [string, readonly number[], Readonly<Record<number, MemberState>>, object]>([
    ['waits for a learner', [1, 2, 4], { 2: 'ready', 4: 'behind' }, { kind: 'wait', for: [4] }],
    ['names the replica that it waits for', [1, 2, 4], {}, { kind: 'wait', for: [4] }],
    ['keeps its quorum', [1, 2], { 3: 'ready' }, { kind: 'wait', for: [2] }],
    ['drops a silent voter', [1, 2], { 2: 'ready' }, { kind: 'change', target: { voters: [1, 2], learners: [] } }],
    ['hands over before the leader leaves', [2, 3], { 2: 'ready', 3: 'behind' }, { kind: 'transfer', to: [2] }],
  ])('%s', (_name, wanted, known, next) => {
    const target = { voters: wanted.map(toReplicaId), learners: [] };
    const voters = IDS.slice(0, 3);
    const from = { voters, learners: target.voters.filter((id) => !voters.includes(id)) };
    const states = new Map(Object.entries(known).map(([id, state]) => [toReplicaId(Number(id)), state]));
    expect(planMembership(viewOf(from, toReplicaId(1), states), target)).toEqual(next);
  });

  it('waits while a change is in progress', () => {
    const view = { ...viewOf({ voters: [toReplicaId(1)], learners: [] }, toReplicaId(1)), isBusy: true };
    expect(planMembership(view, { voters: IDS, learners: [] })).toEqual({ kind: 'wait', for: [] });
  });
});

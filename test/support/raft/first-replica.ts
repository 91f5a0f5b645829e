/** Opens a replica in its initial state, for tests that inspect the state without advancing time. */
import { type Membership, openReplica, type RaftState, REPLICATION, type Recovered, toReplicaId } from '#raft';

/** Replica 1 of a group with these members. */
export function openFirstReplica(membership: Membership, recovered: Recovered): RaftState {
  const bounds = { electionWindowMs: 1000, electionJitterMs: 100, uncommittedBytesMax: 1000, pendingReadsMax: 10 };
  const config = { ...bounds, self: toReplicaId(1), replication: REPLICATION };
  return openReplica(config, membership, recovered, { nowMs: 0, seed: 1 });
}

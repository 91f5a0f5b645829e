/**
 * Appends to a database with three replicas, through its leader and through another node, compared with a cluster of
 * three etcd members.
 */
import type { Arena } from '../arena.ts';
import { appendRequests, type CairnNode, TRANSACT } from '../peers/cairn.ts';
import { ETCD_TXN, type Etcd, etcdConditionalPuts } from '../peers/etcd.ts';
import { grpcHeaders } from '../support/http2-connection.ts';
import { measured } from '../support/measured.ts';
import type { Contender, Sample, Workload } from '../support/sample.ts';
import { ThreadTimes } from '../support/thread-times.ts';
import type { AppendLoad } from './append.ts';

const DURABLE = 'fdatasync on two of three';

export async function clusterWorkload(arena: Arena, load: AppendLoad): Promise<Workload> {
  const cairn = await cairnContenders(arena, load);
  const contenders = [...cairn, ...(await etcdContenders(arena, load))];
  // Leaders come first, because ratios refer to the first contender.
  const ordered = contenders.toSorted((one, other) => Number(one.isForwarded) - Number(other.isForwarded));
  return { ...load, unit: 'events', contenders: ordered, notes: () => cairn.map((each) => each.threads()) };
}

interface ClusterContender extends Contender {
  readonly isForwarded: boolean;
}

interface CairnContender extends ClusterContender {
  /** CPU time of its nodes, by thread. */
  threads(): string;
}

async function cairnContenders(arena: Arena, load: AppendLoad): Promise<readonly CairnContender[]> {
  const cluster = await arena.cairnCluster();
  await cluster.createDatabase(load.name);
  const leader = await cluster.leaderOf(load.name);
  const follower = cluster.names.find((name) => name !== leader) ?? leader;
  const template = appendRequests({ ...load, database: load.name, conditional: true }, arena.numbers());
  const { pids } = cluster;
  const leading = cluster.node(leader).pid;
  const at = ({ address }: CairnNode, isForwarded: boolean): CairnContender => {
    const peer = `cairn × ${pids.length}, at ${isForwarded ? 'a follower' : 'the leader'}`;
    const [leads, follow] = [new ThreadTimes(leading), new ThreadTimes(...pids.filter((pid) => pid !== leading))];
    const { clients, events: eventsPerCall } = load;
    const by = (seconds: number): Promise<Sample> => {
      const asked = { address, headers: grpcHeaders(TRANSACT), clients, seconds, request: () => template.next() };
      return measured({ pids, eventsPerCall }, asked);
    };
    return {
      peer,
      durability: DURABLE,
      isForwarded,
      run: (seconds) => leads.during(() => follow.during(() => by(seconds))),
      warmUp: by,
      threads: () => `${peer}, by thread: the leader ${leads.text()}; the others together ${follow.text()}`,
    };
  };
  return [at(cluster.node(leader), false), at(cluster.node(follower), true)];
}

async function etcdContenders(arena: Arena, load: AppendLoad): Promise<readonly ClusterContender[]> {
  const etcd = await arena.etcdCluster();
  if (etcd === undefined) return [];
  const leader = await etcd.leader();
  const follower = etcd.members.find((member) => member !== leader) ?? leader;
  const template = etcdConditionalPuts(load.events, load.eventBytes, arena.numbers());
  const pids = etcd.members.map(({ pid }) => pid);
  const at = (member: Etcd, isForwarded: boolean): ClusterContender => ({
    peer: `etcd × ${pids.length}, at ${isForwarded ? 'a follower' : 'the leader'}`,
    durability: DURABLE,
    isForwarded,
    run: (seconds) =>
      measured(
        { pids, eventsPerCall: load.events },
        {
          address: member.address,
          headers: grpcHeaders(ETCD_TXN),
          clients: load.clients,
          seconds,
          request: () => template.next(),
        },
      ),
  });
  return [at(leader, false), at(follower, true)];
}

/**
 * Appends to a database with three replicas, through its leader and through another node, compared with a cluster of
 * three etcd members.
 */
import { type Arena, contenderOf } from '../arena.ts';
import { appendRequests, TRANSACT } from '../peers/cairn.ts';
import type { CairnCluster } from '../peers/cairn-cluster.ts';
import { ETCD_TXN, type EtcdCluster, etcdConditionalPuts } from '../peers/etcd.ts';
import { closedTurns } from '../support/measured.ts';
import type { Contender, Turns, Workload } from '../support/sample.ts';
import { ThreadTimes } from '../support/thread-times.ts';
import type { AppendLoad } from './append.ts';

type Place = 'leader' | 'follower';

/** Leaders come first, because ratios refer to the first contender. */
export function clusterWorkload(arena: Arena, load: AppendLoad): Workload {
  const at = (place: Place): readonly Contender[] => [
    contenderOf(
      arena.cluster,
      (cluster) => cairnTurns(cluster, { ...load, place, firstNumber: arena.numbers() }),
      `, at ${HOW[place]}`,
    ),
    ...arena.etcdClusters.map((peer) =>
      contenderOf(peer, (cluster) => etcdTurns(arena, cluster, { ...load, place }), `, at ${HOW[place]}`),
    ),
  ];
  return { ...load, unit: 'events', contenders: [...at('leader'), ...at('follower')] };
}

const HOW: Readonly<Record<Place, string>> = { leader: 'the leader', follower: 'a follower' };

/** Appends to the database with the name of the load, which the first contender of a cluster creates. */
export async function cairnTurns(
  cluster: CairnCluster,
  { place, firstNumber, ...load }: Omit<AppendLoad, 'what'> & { readonly place: Place; readonly firstNumber: number },
): Promise<Turns> {
  if (place === 'leader') await cluster.createDatabase(load.name);
  const leader = await cluster.leaderOf(load.name);
  const asked = place === 'leader' ? leader : cluster.names.find((name) => name !== leader);
  const { address } = cluster.node(asked ?? leader);
  const template = appendRequests({ ...load, database: load.name, conditional: true }, firstNumber);
  const { pids } = cluster;
  const { clients, events: eventsPerCall } = load;
  const calls = { address, path: TRANSACT, clients, request: () => template.next() };
  const turns = closedTurns({ pids, eventsPerCall }, calls);
  const leading = cluster.node(leader).pid;
  const [leads, follow] = [new ThreadTimes(leading), new ThreadTimes(...pids.filter((pid) => pid !== leading))];
  return {
    ...turns,
    run: (seconds) => leads.during(() => follow.during(() => turns.run(seconds))),
    note: () => `by thread, the leader ${leads.text()}; the others together ${follow.text()}`,
  };
}

async function etcdTurns(
  arena: Arena,
  cluster: EtcdCluster,
  { place, clients, events, eventBytes }: AppendLoad & { readonly place: Place },
): Promise<Turns> {
  const leader = await cluster.leader();
  const follower = cluster.members.find((member) => member !== leader) ?? leader;
  const { address } = place === 'leader' ? leader : follower;
  const template = etcdConditionalPuts(events, eventBytes, arena.numbers());
  const counted = { pids: cluster.members.map(({ pid }) => pid), eventsPerCall: events };
  return closedTurns(counted, { address, path: ETCD_TXN, clients, request: () => template.next() });
}

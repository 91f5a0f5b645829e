/** Compares clusters of different builds: appends through the leaders, and the CPU time of leaders and other nodes. */
import type { Arena } from '../arena.ts';
import { appendRequests, TRANSACT } from '../peers/cairn.ts';
import { grpcHeaders } from '../support/http2-connection.ts';
import { measured } from '../support/measured.ts';
import { type Contender, compete, type Plan, type Sample, table } from '../support/sample.ts';
import { ThreadTimes } from '../support/thread-times.ts';
import type { AppendLoad } from './append.ts';
import type { BuildContender } from './loaded-builds.ts';

const DURABLE = 'fdatasync on two of three';

interface ClusterContender extends Contender {
  /** CPU time of its nodes, by thread. */
  threads(): string;
}

/** Returns a Markdown table, followed by the CPU time per event by thread, for the leader and for the other nodes. */
export async function competeByClusters(
  arena: Arena,
  contenders: readonly BuildContender[],
  { plan, load }: { readonly plan: Plan; readonly load: AppendLoad },
): Promise<string> {
  const running: ClusterContender[] = [];
  for (const contender of contenders) running.push(await clusterAppend(arena, contender, load));
  const workload = { ...load, unit: 'events', contenders: running };
  const text = table(workload, await compete(workload, plan));
  return [text, ...running.map((each) => each.threads()), ''].join('\n');
}

async function clusterAppend(
  arena: Arena,
  { name, build }: BuildContender,
  load: AppendLoad,
): Promise<ClusterContender> {
  const cluster = await arena.cairnCluster(name, build);
  await cluster.createDatabase(load.name);
  const leader = cluster.node(await cluster.leaderOf(load.name));
  const { pids } = cluster;
  const [leads, follow] = [new ThreadTimes(leader.pid), new ThreadTimes(...pids.filter((pid) => pid !== leader.pid))];
  const template = appendRequests({ ...load, database: load.name, conditional: true }, arena.numbers());
  const headers = grpcHeaders(TRANSACT);
  const { clients, events: eventsPerCall } = load;
  const by = (seconds: number): Promise<Sample> => {
    const asked = { address: leader.address, headers, clients, seconds, request: () => template.next() };
    return measured({ pids, eventsPerCall }, asked);
  };
  return {
    peer: name,
    durability: DURABLE,
    run: (seconds) => leads.during(() => follow.during(() => by(seconds))),
    warmUp: by,
    threads: () => `${name}: the leader ${leads.text()}; the others together ${follow.text()}`,
  };
}

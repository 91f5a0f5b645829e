/** Compares clusters of different builds: appends through the leaders, and the CPU time of leaders and other nodes. */
import type { Arena } from '../arena.ts';
import { table } from '../support/results.ts';
import { compete, type Plan } from '../support/sample.ts';
import type { AppendLoad } from './append.ts';
import { cairnTurns } from './cluster.ts';
import type { BuildContender } from './loaded-builds.ts';

/** Returns a Markdown table, followed by the CPU time per event by thread, for the leader and for the other nodes. */
export async function competeByClusters(
  arena: Arena,
  builds: readonly BuildContender[],
  { plan, load }: { readonly plan: Plan; readonly load: AppendLoad },
): Promise<string> {
  const contenders = builds.map(({ name, build }) => ({
    peer: name,
    directory: arena.at(name),
    open: async () => {
      const cluster = await arena.cairnCluster(name, build);
      return cairnTurns(cluster, { ...load, place: 'leader', firstNumber: arena.numbers() });
    },
  }));
  const workload = { ...load, unit: 'events', contenders };
  return table(workload, await compete(workload, plan));
}

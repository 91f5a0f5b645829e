/** A closed-loop run with the CPU time of both sides. */
import { closedLoop, type Load } from './closed-loop.ts';
import { cpuSeconds } from './process-cpu.ts';
import type { Sample } from './sample.ts';

export async function measured(
  server: { readonly pids: readonly number[]; readonly eventsPerCall: number },
  load: Load,
): Promise<Sample> {
  const serverBefore = cpuSeconds(server.pids);
  const clientBefore = process.cpuUsage();
  const result = await closedLoop(load);
  const client = process.cpuUsage(clientBefore);
  const operations = load.weigh === undefined ? (result.calls - result.failed) * server.eventsPerCall : result.weight;
  return {
    operations,
    failed: result.failed,
    seconds: result.seconds,
    latencies: result.latencies,
    serverCpuSeconds: cpuSeconds(server.pids) - serverBefore,
    clientCpuSeconds: (client.user + client.system) / 1e6,
  };
}

/** Runs a load and measures the CPU time of the server and of the client. */
import { closedLoop, type Load, type LoadResult } from './closed-loop.ts';
import { cpuSeconds } from './process-cpu.ts';
import type { Sample } from './sample.ts';

interface Server {
  readonly pids: readonly number[];
  readonly eventsPerCall: number;
}

/** Load from the minimal client of http2-connection.ts. */
export function measured(server: Server, load: Load): Promise<Sample> {
  return measuredRun(server, () => closedLoop(load));
}

/** Load from any client in this process or in its child processes. */
export async function measuredRun(server: Server, run: () => LoadResult | Promise<LoadResult>): Promise<Sample> {
  const serverBefore = cpuSeconds(server.pids);
  const clientBefore = clientSeconds();
  const result = await run();
  const operations = (result.calls - result.failed) * server.eventsPerCall;
  return {
    operations,
    failed: result.failed,
    seconds: result.seconds,
    latencies: result.latencies,
    serverCpuSeconds: cpuSeconds(server.pids) - serverBefore,
    clientCpuSeconds: clientSeconds() - clientBefore,
  };
}

/** CPU seconds of this process and of its child processes that have ended. */
function clientSeconds(): number {
  return cpuSeconds([process.pid]);
}

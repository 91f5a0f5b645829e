/** Runs a load and measures the CPU time of the server and of the client. */
import { closedLoop, type Load, type LoadResult } from './closed-loop.ts';
import { grpcHeaders } from './http2-connection.ts';
import { cpuSeconds } from './process-cpu.ts';
import type { Sample, Turns } from './sample.ts';

interface Server {
  readonly pids: readonly number[];
  readonly eventsPerCall: number;
}

/** A closed loop of calls of one method. */
interface Calls extends Pick<Load, 'address' | 'clients' | 'request'> {
  readonly path: string;
}

const WARM_UP_CALLERS = 16;

/** Turns of a closed loop, which is warmed up with at least `WARM_UP_CALLERS`. */
export function closedTurns(server: Server, { path, ...calls }: Calls): Turns {
  const headers = grpcHeaders(path);
  const by = (clients: number, seconds: number): Promise<Sample> =>
    measured(server, { ...calls, headers, clients, seconds });
  return {
    run: (seconds) => by(calls.clients, seconds),
    warmUp: (seconds) => by(Math.max(calls.clients, WARM_UP_CALLERS), seconds),
  };
}

/** Makes this number of calls, by 16 callers by default. Throws when one fails. */
export async function fill(
  server: Server,
  calls: Omit<Calls, 'clients'> & { readonly clients?: number },
  count: number,
): Promise<Sample> {
  const load = { clients: 16, ...calls, headers: grpcHeaders(calls.path), seconds: 0, calls: count };
  const filled = await measured(server, load);
  if (filled.failed > 0) throw new Error(`${filled.failed} transactions failed while loading`);
  return filled;
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

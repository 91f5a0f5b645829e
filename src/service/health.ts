/** Judges whether this node serves reads and writes. */
import type { ServiceContext } from './context.ts';
import type { HealthReply } from './operations.ts';

/** Returns the health of the node, never that of a single database. */
export function health(context: ServiceContext): HealthReply {
  const { accepting, disk, knowsCatalog, isClockFar, hasDiverged } = context.node.health();
  const readable = accepting && knowsCatalog;
  const isWhole = readable && disk === 'open' && !isClockFar;
  return {
    status: isWhole && !hasDiverged ? 'ok' : 'degraded',
    version: context.release,
    storage: { adapter: 'leveldb', status: disk },
    uptimeSeconds: Math.floor((context.timers.monotonicMs() - context.startedAtMs) / 1000),
    readable,
    writable: isWhole,
  };
}

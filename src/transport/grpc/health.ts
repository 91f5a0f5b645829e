/**
 * The gRPC health service (grpc.health.v1), by the package of the gRPC project: "" and "read" serve until the node
 * drains, "write" while writes can commit, "cairn.v1.EventStore" like "". Watchers hear of every change.
 */
import type { Server } from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';

/** Whether the node answers reads and takes writes, asked once a second. */
export interface HealthSource {
  readonly readable: () => boolean;
  readonly writable: () => boolean;
}

/** Adds the service to the server and keeps its statuses fresh until `stop`. */
export interface HealthService {
  addTo(server: Server): void;
  /** Looks at the source now: for a node that begins to drain. */
  refresh(): void;
  stop(): void;
}

const REFRESH_EVERY_MS = 1000;

export function createHealthService(source: HealthSource): HealthService {
  const probes: ReadonlyMap<string, () => boolean> = new Map([
    ['', source.readable],
    ['read', source.readable],
    ['write', source.writable],
    ['cairn.v1.EventStore', source.readable],
  ]);
  const health = new HealthImplementation();
  const told = new Map<string, boolean>();
  const refresh = (): void => {
    for (const [name, probe] of probes) {
      const isServing = probe();
      // Watchers are told of every status that is set, also of the one they know.
      if (told.get(name) === isServing) continue;
      told.set(name, isServing);
      health.setStatus(name, isServing ? 'SERVING' : 'NOT_SERVING');
    }
  };
  refresh();
  const timer = setInterval(refresh, REFRESH_EVERY_MS).unref();
  return { addTo: (server) => health.addToServer(server), refresh, stop: () => clearInterval(timer) };
}

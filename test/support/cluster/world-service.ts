/** The service on one node of a world of several nodes; the test controls the time of its limits. */
import type { NodeId } from '#base';
import { nativeSha256 } from '#cluster';
import { createMetrics } from '#observability';
import { createService, type Service } from '#service';
import { ManualTimers } from '../service-world.ts';
import type { ReplicaWorld } from './replica-world.ts';

export function serviceOf(world: ReplicaWorld, node: NodeId, timers: ManualTimers = new ManualTimers()): Service {
  return createService({
    node: world.at(node).front,
    clock: { nowMs: () => world.nowMs },
    random: { bytes: (count) => new Uint8Array(count) },
    sha256: nativeSha256,
    metrics: createMetrics({ runtime: false }),
    release: 'test',
    limits: {},
    timers,
  });
}

/** The health snapshot of a node without problems. */
import type { NodeHealth } from '#cluster';

export const WELL: NodeHealth = {
  accepting: true,
  isDraining: false,
  disk: 'open',
  knowsCatalog: true,
  coreSilentMs: 0,
  hasCaughtUp: true,
  otherCluster: undefined,
  refusedBy: undefined,
  isClockFar: false,
  hasDiverged: false,
  pendingProposals: 0,
};

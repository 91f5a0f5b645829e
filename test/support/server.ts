/** The server that a test is about: one node, or in the runs of the cluster three that are seen as one. */
import { inject } from 'vitest';
import { startTestNode, type TestServer } from './one-server.ts';
import { startServerCluster } from './server-cluster.ts';

export { startServerFor, startServerIn, startTestNode, type TestServer } from './one-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    readonly isClustered?: boolean;
  }
}

/**
 * One node, or where the run says so a cluster (vitest.config.ts). Settings are those of the command line, such
 * as `--read-wait-ms=50`.
 */
export async function startTestServer(...settings: readonly string[]): Promise<TestServer> {
  if (inject('isClustered') === true) return startServerCluster(...settings);
  return startTestNode(...settings);
}

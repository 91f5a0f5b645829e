/**
 * Health: `/health` shows that the process answers. `/health/detailed` shows the state of the node, and the state of
 * the cluster with `cluster=true`. A kubelet can send its probes to this port or to the metrics port.
 */

import { PROBE_PATHS, type ProbePath, probeReply, VERBOSE } from '#observability';
import { clusterPage, nodePage } from '#ui';
import { clusterMembers } from './cluster-json.ts';
import { type HttpReply, textReply } from './reply.ts';
import { objectBody } from './reply-body.ts';
import type { HttpRequest } from './request.ts';
import type { Route, RouteContext } from './route.ts';
import { show } from './show.ts';

const CLUSTER = 'cluster';

export const HEALTH_ROUTES: readonly Route[] = [
  { method: 'GET', path: '/health', isForAnybody: true, handle: () => textReply('OK') },
  { method: 'GET', path: '/health/detailed', parameters: [CLUSTER], handle: readHealth },
  ...PROBE_PATHS.map(probe),
];

function probe(path: ProbePath): Route {
  return {
    method: 'GET',
    path,
    isForAnybody: true,
    parameters: [VERBOSE],
    handle: (request, { probes }) => probeReply(probes, path, request.query().get(VERBOSE) !== undefined),
  };
}

async function readHealth(request: HttpRequest, { service }: RouteContext): Promise<HttpReply> {
  const health = service.health();
  const { status, version, storage, uptimeSeconds } = health;
  const own = {
    status,
    version,
    storage: { adapter: storage.adapter, status: storage.status },
    uptime_seconds: uptimeSeconds,
    authentication: request.privacy().isRequired ? 'on' : 'off',
  };
  if (!request.query().flag(CLUSTER))
    return show(request, { body: objectBody(own), headers: {}, describe: () => nodePage(health) });
  const cluster = await service.describeCluster({ signal: request.signal(), ...request.traced() });
  return show(request, {
    body: objectBody({ ...clusterMembers(cluster, request.listSizes().itemsMax), ...own }),
    headers: { 'cache-control': 'no-store' },
    describe: () => clusterPage(cluster),
  });
}
